import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct TransferBudgetTests {
    @Test func progressResetsTheCount() {
        var budget = TransferBudget(maxFailures: 2)
        for _ in 0..<100 {
            budget.record(TransferBudget.progressBytes)
            let mayContinue = budget.fail()
            #expect(mayContinue)
        }
        let last = [budget.fail(), budget.fail()]
        #expect(last == [true, false])
    }

    @Test func smallStepsAddUpToProgress() {
        var budget = TransferBudget(maxFailures: 1)
        let mayContinue = budget.fail()
        #expect(mayContinue)
        for _ in 0..<64 { budget.record(1_024) }
        #expect(budget.failures == 0)
    }
}
