/// The switch by which a process selects its mutant, and by which it records the tests that reach each mutant.
enum MutantSwitch {
  /// The number of the process's mutant.
  static let variable = "COHERENCE_MUTANT"
  /// The path of the file to which the process appends its ``ReachRecord``s.
  static let recordVariable = "COHERENCE_MUTANT_RECORD"
  static let function = "coherenceMutantIsActive"
  static let fileName = "CoherenceMutantSwitch.swift"

  /// The source of the switch, which is added to every target with mutants. A process reads its variables once.
  ///
  /// Code that a test runs in its own tasks knows the test. Code of detached tasks and threads does not.
  /// A mutant with many hits is recorded at some of them only, because looking up the test takes time.
  static let source = """
    import Foundation
    import Synchronization
    import Testing

    @usableFromInline let coherenceActiveMutant =
      ProcessInfo.processInfo.environment["\(variable)"].flatMap { Int($0) } ?? 0

    private let coherenceMutantRecorder =
      ProcessInfo.processInfo.environment["\(recordVariable)"].map(CoherenceMutantRecorder.init)

    @usableFromInline func \(function)(_ number: Int) -> Bool {
      if let coherenceMutantRecorder { coherenceMutantRecorder.record(number) }
      return coherenceActiveMutant == number
    }

    private final class CoherenceMutantRecorder: Sendable {
      private struct State {
        var hits: [Int: Int] = [:]
        var records: Set<String> = []
      }

      private let path: String
      private let state = Mutex(State())

      init(path: String) { self.path = path }

      func record(_ number: Int) {
        let isSkipped = state.withLock { state in
          let hits = state.hits[number, default: 0] + 1
          state.hits[number] = hits
          return hits > 100_000 ? hits % 1_000 != 0 : hits > 5_000 && hits % 50 != 0
        }
        if isSkipped { return }
        let record = "\\(number) \\(Test.current.map { String(describing: $0.id) } ?? "-")\\n"
        guard state.withLock({ $0.records.insert(record).inserted }) else { return }
        guard let file = fopen(path, "a") else { return }
        fputs(record, file)
        fclose(file)
      }
    }

    """
}
