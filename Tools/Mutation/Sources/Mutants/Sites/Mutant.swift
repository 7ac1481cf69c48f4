/// A change with the number that switches it on.
public struct Mutant: Hashable, Sendable {
  /// Counted from 1; 0 stands for the original.
  public let number: Int
  public let site: MutationSite

  /// The code with the change and the original. The change runs only in a process with this mutant's number.
  func switchedText() -> String { site.text(choosingBy: "\(MutantSwitch.function)(\(number))") }
}
