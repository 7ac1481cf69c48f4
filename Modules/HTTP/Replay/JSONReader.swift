import Foundation

/// Reads JSON and keeps the ranges of its values in the text (RFC 8259). Every number that Swift can read is accepted.
struct JSONReader {
  let bytes: [UInt8]
  private var index = 0
  private var depth = 0
  /// The maximum depth of nested values, so that no text exhausts the stack. Foundation's decoder reads none deeper.
  private static let deepest = 512
  /// Whether the text exceeds the maximum depth.
  private(set) var isTooDeep = false

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Reads the whole text as one value; `nil` when the text is not JSON.
  mutating func document() -> JSONNode? {
    guard let node = node() else { return nil }
    skipSpace()
    return index == bytes.count ? node : nil
  }

  private mutating func node() -> JSONNode? {
    skipSpace()
    guard index < bytes.count else { return nil }
    guard depth < Self.deepest else {
      isTooDeep = true
      return nil
    }
    depth += 1
    defer { depth -= 1 }
    switch bytes[index] {
    case UInt8(ascii: "{"): return object()
    case UInt8(ascii: "["): return array()
    case UInt8(ascii: "\""): return string().map { .text($0, content(of: $0)) }
    default: return literal()
    }
  }

  private mutating func object() -> JSONNode? {
    index += 1
    if take("}") { return .object([]) }
    var members: [JSONMember] = []
    repeat {
      skipSpace()
      guard let name = string(), take(":"), let value = node() else { return nil }
      members.append(JSONMember(name: content(of: name), value: value))
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func array() -> JSONNode? {
    index += 1
    if take("]") { return .array([]) }
    var nodes: [JSONNode] = []
    repeat {
      guard let value = node() else { return nil }
      nodes.append(value)
    } while take(",")
    return take("]") ? .array(nodes) : nil
  }

  /// Reads the range of a string, with its quotation marks.
  private mutating func string() -> Range<Int>? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
    let start = index
    index += 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index += 1
        return start..<index
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }

  private mutating func literal() -> JSONNode? {
    let start = index
    while index < bytes.count, Self.isPartOfLiteral(bytes[index]) { index += 1 }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    let isNumber = (text.first == "-" || text.first?.isNumber == true) && Double(text) != nil
    return isNumber || ["true", "false", "null"].contains(text) ? .literal(start..<index, text) : nil
  }

  /// The string at a range, without quotation marks and escapes.
  private func content(of range: Range<Int>) -> String {
    let quoted = bytes[range]
    if quoted.contains(UInt8(ascii: "\\")) {
      // Foundation resolves the escapes, in an array of one string.
      var document = Data("[".utf8)
      document.append(contentsOf: quoted)
      document.append(UInt8(ascii: "]"))
      if let texts = try? JSONDecoder().decode([String].self, from: document), let text = texts.first { return text }
    }
    return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
  }

  /// Skips spaces and then a character; returns whether the character was there.
  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func skipSpace() {
    while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  private static func isPartOfLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
