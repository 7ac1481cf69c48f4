import Foundation

/// The paragraphs of a Debian control file, such as `/var/lib/dpkg/status`.
///
/// A paragraph is a group of `Field: value` lines that ends at an empty line; a line that begins with white space
/// continues the field above it. Works on bytes and decodes the wanted fields only: the lists of a whole distribution
/// are tens of megabytes, of which the demo needs a tenth.
struct ControlParagraphs: Sequence, IteratorProtocol {
  typealias Paragraph = [String: String]

  private static let newline = UInt8(ascii: "\n")
  private static let colon = UInt8(ascii: ":")
  private static let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]

  private let bytes: [UInt8]
  private let fields: [[UInt8]: String]
  private var position = 0

  /// - Parameters:
  ///   - data: The text of a control file.
  ///   - fields: The names of the fields that paragraphs are to have; the others are skipped.
  init(_ data: Data, fields: [String]) {
    bytes = [UInt8](data)
    self.fields = Dictionary(uniqueKeysWithValues: fields.map { (Array($0.utf8), $0) })
  }

  mutating func next() -> Paragraph? {
    var paragraph: Paragraph = [:]
    var isInside = false
    var current: String?
    while let line = nextLine() {
      guard let first = line.first else {
        if isInside { return paragraph }
        continue
      }
      isInside = true
      if Self.blanks.contains(first) {
        if let current { paragraph[current, default: ""] += "\n" + Self.text(line) }
      } else {
        current = readField(line, into: &paragraph)
      }
    }
    return isInside ? paragraph : nil
  }

  /// Reads a field's first line and returns the field's name when the field is wanted.
  private func readField(_ line: ArraySlice<UInt8>, into paragraph: inout Paragraph) -> String? {
    guard let colon = line.firstIndex(of: Self.colon), let name = fields[Array(line[..<colon])] else { return nil }
    paragraph[name] = Self.text(line[(colon + 1)...])
    return name
  }

  private mutating func nextLine() -> ArraySlice<UInt8>? {
    guard position < bytes.count else { return nil }
    let end = bytes[position...].firstIndex(of: Self.newline) ?? bytes.count
    defer { position = end + 1 }
    return bytes[position..<end]
  }

  private static func text(_ line: ArraySlice<UInt8>) -> String {
    let trimmed = line.drop { blanks.contains($0) }
    return String(decoding: trimmed, as: UTF8.self)
  }
}
