import Foundation

/// A comparison of a text with a constant text or pattern, compiled.
@usableFromInline struct TextTest: Sendable {
  private enum Kind: Sendable {
    case equals([UInt8])
    case differs([UInt8])
    case ordered(ComparisonOperator, String)
    case beginsWith([UInt8])
    case endsWith([UInt8])
    case contains([UInt8])
    case like(LikePattern)
    case matches(TextPattern)
  }
  private let kind: Kind
  private let options: StringOptions

  /// - Throws: ``ErrorCode/invalidPredicate`` when a regular expression cannot be read.
  init(_ comparison: ComparisonOperator, _ constant: String, _ options: StringOptions) throws(CoherenceError) {
    self.options = options
    let folded = comparison == .matches ? constant : constant.folded(options)
    let bytes = Array(folded.utf8)
    kind =
      switch comparison {
      case .equal: .equals(bytes)
      case .notEqual: .differs(bytes)
      case .less, .lessOrEqual, .greater, .greaterOrEqual: .ordered(comparison, folded)
      case .beginsWith: .beginsWith(bytes)
      case .endsWith: .endsWith(bytes)
      case .contains: .contains(bytes)
      case .like: .like(LikePattern(folded))
      case .matches: .matches(try TextPattern(constant, options))
      }
  }

  /// Whether a value satisfies the comparison. A missing text differs from the constant and satisfies no other
  /// comparison.
  ///
  /// - Throws: ``ErrorCode/limitExceeded`` when a pattern is too complex for the text; ``ErrorCode/cancelled``.
  func accepts(_ value: AttributeValue) throws(CoherenceError) -> Bool {
    guard case .string(let original) = value else {
      if case .differs = kind { return true }
      return false
    }
    if case .matches(let pattern) = kind { return try pattern.matches(original) }
    var text = options.isEmpty ? original : original.folded(options)
    if case .ordered(let comparison, let constant) = kind {
      return AttributeValue.string(text).isOrdered(comparison, .string(constant))
    }
    return text.withUTF8 { accepts(UnsafeRawBufferPointer($0)) }
  }

  /// Whether the bytes of a text satisfy the comparison.
  private func accepts(_ text: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .equals(let bytes): text.count == bytes.count && text.begins(with: bytes)
    case .differs(let bytes): !(text.count == bytes.count && text.begins(with: bytes))
    case .beginsWith(let bytes): text.begins(with: bytes)
    case .endsWith(let bytes): text.begins(with: bytes, at: text.count - bytes.count)
    case .contains(let bytes): text.contains(bytes)
    case .like(let pattern): pattern.matches(text)
    // Tested by the caller, without bytes.
    case .ordered, .matches: false
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the text has bytes at an offset. `false` for an offset outside of the text.
  func begins(with bytes: [UInt8], at offset: Int = 0) -> Bool {
    guard offset >= 0, bytes.count <= count - offset else { return false }
    guard !bytes.isEmpty, let baseAddress else { return bytes.isEmpty }
    return memcmp(baseAddress + offset, bytes, bytes.count) == 0
  }

  /// Whether the text contains bytes. The empty array is in every text.
  fileprivate func contains(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first else { return true }
    guard var start = baseAddress else { return false }
    var last = count - bytes.count
    while last >= 0, let found = memchr(start, Int32(first), last + 1) {
      if memcmp(found, bytes, bytes.count) == 0 { return true }
      let next = UnsafeRawPointer(found) + 1
      last -= next - start
      start = next
    }
    return false
  }
}
