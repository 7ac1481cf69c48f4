/// A change with the number that switches it on.
public struct Mutant: Hashable, Sendable {
  /// Counted from 1; 0 stands for the original.
  public let number: Int
  public let site: MutationSite

  /// The code that makes the change in a process with this number, and does as before in every other.
  func switchedText() -> String { site.text(choosingBy: "\(MutantSwitch.function)(\(number))") }
}

/// The names of the switch that selects the mutant of a process.
enum MutantSwitch {
  static let variable = "COHERENCE_MUTANT"
  static let function = "coherenceMutantIsActive"
  static let fileName = "CoherenceMutantSwitch.swift"

  /// The file that every target with mutants gets. The number is read once for each process.
  static let source = """
    import Foundation

    @usableFromInline let coherenceActiveMutant =
      ProcessInfo.processInfo.environment["\(variable)"].flatMap { Int($0) } ?? 0

    @usableFromInline func \(function)(_ number: Int) -> Bool { coherenceActiveMutant == number }

    """
}
