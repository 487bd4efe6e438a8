/// Arithmetic with days of the Gregorian calendar, which is also used for days before its introduction.
package enum CivilCalendar {
    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Returns the number of days of a month.
    package static func length(ofMonth month: Int, year: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar. In this calculation, a year begins in March, so that the leap
    /// day is the last day of the year.
    package static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the number of days since 1970-01-01, and the second of the day, for the number of seconds since 1970-01-01T00:00:00.
    static func day(ofSecond seconds: Int64) -> (days: Int64, second: Int) {
        let rest = seconds % 86_400
        return (seconds / 86_400 - (rest < 0 ? 1 : 0), Int(rest < 0 ? rest + 86_400 : rest))
    }

    /// Returns the date that is a number of days after 1970-01-01.
    package static func date(ofDay days: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = Int(days) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }
}
