import Foundation

/// The regular expression of a condition, which matches a text as a whole or not at all.
///
/// An automaton matches the regular part of ICU's syntax, in a time proportional to the length of the text. Only a
/// search by trial and error can match back references, look-around, flags and boundaries: ICU makes it, with a limit.
struct TextPattern: Sendable {
  /// `nil` for a pattern beyond the regular part. Without regard to case, the automaton covers only texts of ASCII.
  private let automaton: PatternAutomaton?
  /// Matches the texts that the automaton does not cover; `nil` when the automaton covers every text.
  private let backtracking: BacktrackingPattern?
  private let ignoresDiacritics: Bool

  /// - Throws: ``ErrorCode/invalidPredicate`` when the expression cannot be read.
  init(_ pattern: String, _ options: StringOptions) throws(CoherenceError) {
    ignoresDiacritics = options.contains(.diacriticInsensitive)
    let ignoresCase = options.contains(.caseInsensitive)
    let pattern = ignoresDiacritics ? pattern.folded(.diacriticInsensitive) : pattern
    automaton = PatternAutomaton(pattern, ignoresCase: ignoresCase)
    let isCovered = automaton != nil && !ignoresCase
    backtracking = isCovered ? nil : try BacktrackingPattern(pattern, ignoresCase: ignoresCase)
  }

  /// Whether the whole text matches.
  ///
  /// - Throws: ``ErrorCode/limitExceeded`` when ICU did not come to an end within its limit; ``ErrorCode/cancelled``.
  func matches(_ text: String) throws(CoherenceError) -> Bool {
    // Matching a text may take as long as reading its record. So a cancelled task ends between two texts.
    if Task.isCancelled { throw .patternCancelled }
    let text = ignoresDiacritics ? text.folded(.diacriticInsensitive) : text
    if let isMatch = automaton?.matches(text) { return isMatch }
    return try backtracking?.matches(text) ?? false
  }
}

/// A regular expression of ICU, which searches by trial and error, with a limit on the trials.
///
/// ICU has two limits of its own, which the simple match functions of Foundation hide: more than 8 MB of saved trials
/// are an internal error, and after 148 million operations ICU reports no match without any error. A wrong "no match"
/// must not be returned: the search counts ICU's progress reports, one for 10,000 trials, and throws before the second
/// limit.
struct BacktrackingPattern: Sendable {
  private let expression: NSRegularExpression
  /// The number of progress reports after which a search throws.
  private let greatestReportCount: Int

  /// The steps between two progress reports: ICU makes and takes back 10,000 trials. A step takes at most
  /// ``greatestOperationCount(of:)`` operations.
  private static let stepsPerReport = 2 * 10_000
  /// ICU gives up silently after 148,108,655 operations (swift-foundation-icu, `RegexMatcher::MatchChunkAt`).
  private static let operationLimit = 140_000_000

  init(_ pattern: String, ignoresCase: Bool) throws(CoherenceError) {
    do {
      // The pattern must be valid by itself: with `a)|(b`, the group below would not enclose the whole pattern.
      _ = try NSRegularExpression(pattern: pattern)
      expression = try NSRegularExpression(
        pattern: "\\A(?:\(pattern))\\z", options: ignoresCase ? .caseInsensitive : [])
    } catch {
      throw CoherenceError(.invalidPredicate, "A pattern after MATCHES is not a regular expression that can be read.")
    }
    let reports = Self.operationLimit / (Self.stepsPerReport * Self.greatestOperationCount(of: pattern)) - 1
    // A hundred reports, a million trials, bound the time of a text for short patterns too.
    greatestReportCount = min(max(reports, 0), 100)
  }

  /// An upper bound of the operations that ICU takes from one trial to the next: three for a character of the pattern,
  /// multiplied by the counts of all counted repetitions, such as `{20}`.
  private static func greatestOperationCount(of pattern: String) -> Int {
    var factor = 1
    // The number after an opening brace so far; `nil` outside of such a number.
    var count: Int?
    for scalar in pattern.unicodeScalars {
      if scalar == "{" {
        count = 0
      } else if let digit = Int(String(scalar)), let digits = count {
        count = min(digits * 10 + digit, 10_000)
      } else {
        factor = min(factor * max(count ?? 1, 1), 10_000)
        count = nil
      }
    }
    return 3 * (pattern.utf16.count + 8) * factor
  }

  /// Whether the whole text matches.
  ///
  /// - Throws: The errors of ``TextPattern/matches(_:)``.
  func matches(_ text: String) throws(CoherenceError) -> Bool {
    var isMatch = false
    var failure: CoherenceError?
    var reports = 0
    let limit = greatestReportCount
    let range = NSRange(location: 0, length: text.utf16.count)
    expression.enumerateMatches(in: text, options: [.reportProgress, .reportCompletion], range: range) {
      result, flags, stop in
      if result != nil {
        isMatch = true
        stop.pointee = true
      } else if flags.contains(.internalError) {
        failure = .patternLimitExceeded
      } else if flags.contains(.progress) {
        reports += 1
        if Task.isCancelled { failure = .patternCancelled } else if reports > limit { failure = .patternLimitExceeded }
        if failure != nil { stop.pointee = true }
      }
    }
    if let failure { throw failure }
    return isMatch
  }
}

extension CoherenceError {
  fileprivate static var patternCancelled: CoherenceError {
    CoherenceError(.cancelled, "The task was cancelled while texts were matched against a pattern.")
  }

  fileprivate static var patternLimitExceeded: CoherenceError {
    CoherenceError(
      .limitExceeded,
      "A text could not be matched against a pattern within the limit; make the pattern simpler, or write it "
        + "without look-around, back references, flags, boundaries and possessive quantifiers: such a pattern has no "
        + "limit.")
  }
}
