/// The timed waits of tests, each with the reason why it does not wait for time to pass.
///
/// A time belongs here as the limit of a wait for an event that occurs in every correct run.
enum TimedWaitTable {
  struct Entry {
    /// Relative to the root of the repository.
    let path: String
    let count: Int
    let reason: String
  }

  static let entries = [
    Entry(
      path: "Tests/Actions/StoppingOnMainTests.swift", count: 1,
      reason: "A second thread ends the process when the main thread is stuck; a correct process ends before."),
    Entry(
      path: "Tests/Core/MainWaitTests.swift", count: 1,
      reason: "A second thread ends the process when the main thread is stuck; a correct process ends before."),
    Entry(
      path: "Tests/Core/MainHopTests.swift", count: 1,
      reason: "The subject is a wait without a limit, and only a busy main queue of some length shows a limit."),
    Entry(
      path: "Tests/Strategies/NoWaitOnMainTests.swift", count: 1,
      reason: "The work signals in every correct run; the time turns a deadlock into a failure."),
    Entry(
      path: "Tests/Strategies/Faults/StrategyFaultTests.swift", count: 1,
      reason: "The work signals in every correct run; the time turns a deadlock into a failure."),
    Entry(
      path: "Tests/Strategies/Load/LoadWriters.swift", count: 2,
      reason: "The writers end in every correct run; one time turns a deadlock into a failure, one is zero."),
  ]
}
