/// A pattern of `LIKE`: `*` stands for any characters, `?` for one, a backslash takes the next character as it is. A
/// character is a Unicode scalar, as in databases.
struct LikePattern: Sendable {
  private enum Part: Sendable, Equatable {
    /// The byte itself.
    case byte(UInt8)
    /// One character, for `?`.
    case one
    /// Any number of characters, for `*`.
    case any
  }
  private let parts: [Part]

  init(_ pattern: String) {
    var parts: [Part] = []
    var isEscaped = false
    for byte in pattern.utf8 {
      switch byte {
      case UInt8(ascii: "\\") where !isEscaped:
        isEscaped = true
        continue
      case UInt8(ascii: "*") where !isEscaped:
        if parts.last != .any { parts.append(.any) }
      case UInt8(ascii: "?") where !isEscaped:
        parts.append(.one)
      default:
        parts.append(.byte(byte))
      }
      isEscaped = false
    }
    // A backslash at the end is literal.
    if isEscaped { parts.append(.byte(UInt8(ascii: "\\"))) }
    self.parts = parts
  }

  /// Whether the whole text, in UTF-8, fits the pattern. Costs at most the product of the two lengths.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    var part = 0
    // The position to continue from when the part after the last `*` does not fit: the `*` then takes one more
    // character.
    var retry: (part: Int, position: Int)?
    while position < text.count {
      if part < parts.count, let next = end(of: parts[part], at: position, in: text) {
        if parts[part] == .any { retry = (part + 1, position) }
        part += 1
        position = next
      } else if let (partAfter, begin) = retry {
        let longer = Self.nextCharacter(after: begin, in: text)
        retry = (partAfter, longer)
        part = partAfter
        position = longer
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { $0 == .any }
  }

  /// The position after a part that fits at a position; `nil` where the part does not fit.
  private func end(of part: Part, at position: Int, in text: UnsafeRawBufferPointer) -> Int? {
    switch part {
    case .byte(let byte): text[position] == byte ? position + 1 : nil
    case .one: Self.nextCharacter(after: position, in: text)
    case .any: position
    }
  }

  private static func nextCharacter(after position: Int, in text: UnsafeRawBufferPointer) -> Int {
    var next = position + 1
    // Continuation bytes of UTF-8 have the form 10xxxxxx.
    while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
    return next
  }
}
