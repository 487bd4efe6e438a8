#if Auth
import Errand
import Foundation

@testable import ErrandAuth

/// Two processes that share a record, a server that replaces refresh tokens, and all orders of their steps.
///
/// The names of tokens and of sign-ins begin with the account: `ann`, then `p0-…` and `p1-…`.
struct TokenProcessModel: Hashable {
    enum Work: CaseIterable { case refresh, signIn, signOut }

    enum Step: Hashable {
        case idle
        // A refresh.
        case lockRefresh
        case loadForRefresh
        case refresh(AccessToken, seen: AccessToken?)
        case loadAfterRefusal(AccessToken)
        case unlockRefresh
        // A write.
        case lockWrite(TokenStorePolicy.Change, isInRefresh: Bool)
        case compare(TokenStorePolicy.Change, isInRefresh: Bool)
        case write(TokenStorePolicy.Outcome, isInRefresh: Bool)
    }

    struct Process: Hashable {
        var policy = TokenStorePolicy()
        var token: AccessToken?
        var step = Step.idle
        var script: [Work]
        var signIns = 0
        var isDead = false
    }

    private static let now = Date(timeIntervalSince1970: 0)

    private var record: AccessToken?
    private var refreshLock: Int?
    private var writeLock: Int?
    private var processes: [Process]
    /// The only refresh token of each account that the server accepts.
    private var valid = ["ann": "ann-0"]
    /// The accounts whose new token died with its process.
    private var lost: Set<String> = []
    /// The sign-ins whose record a sign-out has removed.
    private var signedOut: Set<String> = []
    private var wasRefused = false

    init(_ first: [Work], _ second: [Work]) {
        let ann = AccessToken("ann-0", refreshToken: "ann-0").belonging(to: "ann")
        record = ann
        processes = [first, second].map { script in
            var process = Process(script: script)
            process.policy.follow(ann)
            process.token = ann
            return process
        }
    }

    private static func account(_ text: String?) -> String? { text.map { String($0.split(separator: "-")[0]) } }

    /// Runs all orders.
    ///
    /// - Returns: the number of states, and what is wrong in some of them.
    func explored() -> (states: Int, problems: Set<String>) {
        var (seen, open, problems): (Set<Self>, [Self], Set<String>) = ([self], [self], [])
        while let state = open.popLast() {
            problems.formUnion(state.problems)
            for index in state.processes.indices where !state.processes[index].isDead {
                for dies in [false, true] {
                    var next = state
                    if dies { next.die(index) } else if !next.advance(index) { continue }
                    if seen.insert(next).inserted { open.append(next) }
                }
            }
        }
        return (seen.count, problems)
    }

    private var problems: [String] {
        var found: [String] = []
        for process in processes where Self.account(process.token?.value) != Self.account(process.policy.signIn?.id) {
            found.append("a process has the token of another account: \(process)")
        }
        if let record, Self.account(record.value) != Self.account(record.signInID) {
            found.append("the record has the token of another account")
        }
        if let id = record?.signInID, signedOut.contains(id) { found.append("a sign-out was undone") }
        if wasRefused, lost.isEmpty { found.append("the server refused a refresh token that was not lost") }
        guard refreshLock == nil, writeLock == nil else { return found }
        if let record, let account = Self.account(record.signInID), valid[account] != record.refreshToken, !lost.contains(account) {
            found.append("the record has an old refresh token")
        }
        if record == nil, signedOut.isEmpty, lost.isEmpty { found.append("nobody has signed out, and there is no record") }
        return found
    }

    private mutating func die(_ index: Int) {
        // The tokens that the server has sent and that the record does not have.
        switch processes[index].step {
        case .lockWrite(.refreshed(let token, _), _), .compare(.refreshed(let token, _), _), .write(.save(let token), isInRefresh: true):
            lost.insert(Self.account(token.value)!)
        default: break
        }
        if refreshLock == index { refreshLock = nil }
        if writeLock == index { writeLock = nil }
        processes[index].isDead = true
        (processes[index].step, processes[index].script) = (.idle, [])
        (processes[index].token, processes[index].policy) = (nil, TokenStorePolicy())
    }

    private mutating func follow(_ stored: AccessToken?, _ index: Int) {
        processes[index].policy.follow(stored)
        processes[index].token = stored
    }

    /// Does one step; `false` if the process waits or has ended.
    private mutating func advance(_ index: Int) -> Bool {
        var own: Process { processes[index] }
        func go(_ step: Step) { processes[index].step = step }
        switch own.step {
        case .idle:
            guard let work = own.script.first else { return false }
            processes[index].script.removeFirst()
            switch work {
            case .refresh where own.token == nil: break
            case .refresh: go(.lockRefresh)
            case .signIn:
                processes[index].signIns += 1
                let account = "p\(index)\(own.signIns)"
                valid[account] = account + "-0"
                processes[index].policy.signIn(id: account)
                processes[index].token = AccessToken(account + "-0", refreshToken: account + "-0")
                go(.lockWrite(.signIn(own.token!), isInRefresh: false))
            case .signOut:
                processes[index].token = nil
                go(.lockWrite(processes[index].policy.signOut(), isInRefresh: false))
            }
        case .lockRefresh:
            guard refreshLock == nil else { return false }
            refreshLock = index
            go(.loadForRefresh)
        case .loadForRefresh:
            go(.unlockRefresh)
            switch own.policy.beforeRefresh(stored: record, own: own.token, isSaved: true, hasUnsaved: false, at: Self.now) {
            case .use(let token): processes[index].token = token
            case .follow(let stored): follow(stored, index)
            case .refresh(let token?): go(.refresh(token, seen: record))
            case .refresh(nil), .save: break
            }
        case .refresh(let token, let seen):
            let account = Self.account(token.value)!
            if valid[account] == token.refreshToken {
                let new = "\(account)-\(Int(token.refreshToken!.split(separator: "-")[1])! + 1)"
                valid[account] = new
                let change = processes[index].policy.obtain(AccessToken(new, refreshToken: new), seen: seen, newID: "none")
                go(.lockWrite(change, isInRefresh: true))
            } else {
                wasRefused = true
                go(.loadAfterRefusal(token))
            }
        case .loadAfterRefusal(let used):
            go(.unlockRefresh)
            switch own.policy.afterRefusal(of: used, stored: record, at: Self.now) {
            case .use(let token): processes[index].token = token
            case .follow(let stored): follow(stored, index)
            case .tryAgain: break
            case .final:
                processes[index].token = nil
                go(.lockWrite(processes[index].policy.refuse(used), isInRefresh: true))
            }
        case .unlockRefresh:
            refreshLock = nil
            go(.idle)
        case .lockWrite(let change, let isInRefresh):
            guard writeLock == nil else { return false }
            writeLock = index
            go(.compare(change, isInRefresh: isInRefresh))
        case .compare(let change, let isInRefresh):
            go(.write(own.policy.outcome(of: change, stored: record), isInRefresh: isInRefresh))
        case .write(let outcome, let isInRefresh):
            switch outcome {
            case .save(let token):
                record = token
                processes[index].policy.saved(token)
                processes[index].token = token
            case .remove:
                if !isInRefresh, let id = record?.signInID { signedOut.insert(id) }
                record = nil
            case .keep: break
            case .follow(let stored): follow(stored, index)
            }
            writeLock = nil
            go(isInRefresh ? .unlockRefresh : .idle)
        }
        return true
    }
}
#endif
