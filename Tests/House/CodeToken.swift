/// A word or a punctuation mark of the code of a file.
struct CodeToken {
  let text: Substring
  /// Counted from 1.
  let line: Int
  /// Whether the token is the first on its line.
  let isFirst: Bool

  /// The tokens of the lines of a scanned file.
  static func tokens(of lines: [String]) -> [CodeToken] {
    lines.enumerated().flatMap { number, line in
      words(of: line).enumerated().map { CodeToken(text: $1, line: number + 1, isFirst: $0 == 0) }
    }
  }

  /// Letters, digits and underscores stay together; each other mark is a token.
  private static func words(of line: String) -> [Substring] {
    let bytes = line.utf8
    var words: [Substring] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let start = index
      bytes.formIndex(after: &index)
      if bytes[start] == UInt8(ascii: " ") { continue }
      if isLetter(bytes[start]) {
        while index < bytes.endIndex, isLetter(bytes[index]) { bytes.formIndex(after: &index) }
      }
      words.append(line[start..<index])
    }
    return words
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}

extension [CodeToken] {
  /// Returns the index of the bracket that closes the bracket at an index; the last index without a closing bracket.
  func closing(_ open: Index) -> Index {
    let pairs: [Substring: Substring] = ["(": ")", "[": "]", "{": "}"]
    guard let mark = pairs[self[open].text] else { return open }
    var depth = 0
    for index in open..<endIndex {
      if self[index].text == self[open].text { depth += 1 }
      if self[index].text == mark { depth -= 1 }
      if depth == 0 { return index }
    }
    return endIndex - 1
  }
}
