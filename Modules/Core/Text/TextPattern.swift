import Foundation

/// A regular expression that a whole text is held against.
///
/// The regular part of ICU's syntax is matched by an automaton, in a time that grows with the text alone. What only a
/// search by trial and error can match - back references, look-around, flags, boundaries - is left to ICU, with a limit.
struct TextPattern: Sendable {
  private let automaton: PatternAutomaton?
  /// `nil` where the automaton covers every text.
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
    // A match may take as long as reading a record does: a cancelled task ends between two of them.
    if Task.isCancelled { throw .patternCancelled }
    let text = ignoresDiacritics ? text.folded(.diacriticInsensitive) : text
    if let isMatch = automaton?.matches(text) { return isMatch }
    return try backtracking?.matches(text) ?? false
  }
}

/// A regular expression of ICU, which searches by trial and error, with a limit on the trials.
///
/// ICU has two limits of its own, and Foundation shows neither where a match is asked for: more than 8 MB of trials to
/// come back to are an internal error, and after 148 million operations ICU reports no match without any error. So the
/// progress reports are counted, one for 10,000 trials, and a search is ended before that could happen.
struct BacktrackingPattern: Sendable {
  private let expression: NSRegularExpression
  private let greatestReportCount: Int

  /// ICU gives up silently after 148,108,655 operations (swift-foundation-icu, `RegexMatcher::MatchChunkAt`). Of each
  /// trial it takes at most as many operations as the pattern has, going forth and coming back.
  private static let operationsPerReport = 2 * 10_000
  private static let operationLimit = 140_000_000

  init(_ pattern: String, ignoresCase: Bool) throws(CoherenceError) {
    do {
      // The pattern must be good by itself, so that it cannot reach out of the brackets put around it.
      _ = try NSRegularExpression(pattern: pattern)
      expression = try NSRegularExpression(
        pattern: "\\A(?:\(pattern))\\z", options: ignoresCase ? .caseInsensitive : [])
    } catch {
      throw CoherenceError(.invalidPredicate, "A pattern after MATCHES is not a regular expression that can be read.")
    }
    let reports = Self.operationLimit / (Self.operationsPerReport * Self.greatestOperationCount(of: pattern)) - 1
    greatestReportCount = min(max(reports, 0), 100)
  }

  /// The most operations that ICU takes from one trial to the next: at most three for a character of the pattern, and
  /// those of counted repetitions again and again.
  private static func greatestOperationCount(of pattern: String) -> Int {
    var factor = 1
    var count: Int?
    for scalar in pattern.unicodeScalars {
      if scalar == "{" {
        count = 0
      } else if let digit = Int(String(scalar)), let known = count {
        count = min(known * 10 + digit, 10_000)
      } else {
        factor = min(factor * max(count ?? 1, 1), 10_000)
        count = nil
      }
    }
    return 3 * (pattern.utf16.count + 8) * factor
  }

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
    CoherenceError(.cancelled, "The task was cancelled while texts were held against a pattern.")
  }

  fileprivate static var patternLimitExceeded: CoherenceError {
    CoherenceError(
      .limitExceeded,
      "A text could not be held against a pattern within the limit; write the pattern without look-around, back "
        + "references and possessive quantifiers, for which there is none, or make it simpler.")
  }
}
