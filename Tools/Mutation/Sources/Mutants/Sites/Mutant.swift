/// A change with the number that switches it on.
public struct Mutant: Hashable, Sendable {
  /// Counted from 1; 0 stands for the original.
  public let number: Int
  public let site: MutationSite

  /// The code with the change and the original. The change runs only in a process with this mutant's number.
  func switchedText() -> String { site.text(choosingBy: "\(MutantSwitch.function)(\(number))") }
}

/// The names of the switch by which a process selects its mutant.
enum MutantSwitch {
  static let variable = "COHERENCE_MUTANT"
  static let function = "coherenceMutantIsActive"
  static let fileName = "CoherenceMutantSwitch.swift"

  /// The source of the switch, which is added to every target with mutants. A process reads its number once.
  static let source = """
    import Foundation

    @usableFromInline let coherenceActiveMutant =
      ProcessInfo.processInfo.environment["\(variable)"].flatMap { Int($0) } ?? 0

    @usableFromInline func \(function)(_ number: Int) -> Bool { coherenceActiveMutant == number }

    """
}
