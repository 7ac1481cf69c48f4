package import Foundation

// The checks of a backend's options during the opening of a store.

extension StoreEnvironment {
  /// The value of a whole-number option; `nil` if the option is missing.
  ///
  /// - Throws: ``ErrorCode/invalidOption`` for a value of another type, and for a number out of the range.
  package func number(_ option: String, in range: ClosedRange<Int>) throws(CoherenceError) -> Int? {
    switch options[option] {
    case nil: return nil
    case .int(let number) where range.contains(number): return number
    default: throw optionError(option, mustBe: "a number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  /// The value in seconds of an option for a time of at most a day; `nil` if the option is missing.
  ///
  /// - Throws: ``ErrorCode/invalidOption`` for a value of another type, and for a time out of the range.
  package func seconds(_ option: String) throws(CoherenceError) -> TimeInterval? {
    switch options[option] {
    case nil: return nil
    case .int(let seconds) where (0...86_400).contains(seconds): return TimeInterval(seconds)
    case .double(let seconds) where (0...86_400).contains(seconds): return seconds
    default: throw optionError(option, mustBe: "a number of seconds from 0 to 86400")
    }
  }

  /// The value of a text option; `nil` if the option is missing.
  ///
  /// - Parameters:
  ///   - expected: The valid texts, as the end of a sentence that begins with "must be".
  ///   - isValid: Whether a text is valid.
  /// - Throws: ``ErrorCode/invalidOption`` for a value of another type, and for an invalid text.
  package func text(
    _ option: String, _ expected: String, where isValid: (String) -> Bool
  ) throws(CoherenceError) -> String? {
    switch options[option] {
    case nil: return nil
    case .string(let text) where isValid(text): return text
    default: throw optionError(option, mustBe: expected)
    }
  }

  private func optionError(_ option: String, mustBe expected: String) -> CoherenceError {
    CoherenceError(.invalidOption, "The \(type.name) option '\(option)' must be \(expected).")
  }
}
