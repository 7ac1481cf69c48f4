/// A source file with the switches of several mutants in it.
struct MutatedSource {
  let text: String
  /// The lines of the text that each mutant covers, counted from 1.
  private let lines: [(mutant: Mutant, range: ClosedRange<Int>)]

  /// - Parameter mutants: The mutants of this file. None of them is within another.
  init(_ source: String, mutants: [Mutant]) {
    var bytes: [UInt8] = []
    var lines: [(mutant: Mutant, range: ClosedRange<Int>)] = []
    let original = Array(source.utf8)
    var (position, line) = (0, 1)
    func copy(_ part: some Sequence<UInt8>) {
      for byte in part {
        bytes.append(byte)
        if byte == UInt8(ascii: "\n") { line += 1 }
      }
    }
    for mutant in mutants.sorted(by: { $0.site.range.lowerBound < $1.site.range.lowerBound }) {
      copy(original[position..<mutant.site.range.lowerBound])
      let first = line
      copy(mutant.switchedText().utf8)
      lines.append((mutant, first...line))
      position = mutant.site.range.upperBound
    }
    copy(original[position...])
    text = String(decoding: bytes, as: UTF8.self)
    self.lines = lines
  }

  /// Returns the probable mutants for a compiler error at a line: the mutants that cover the line, or else the nearest
  /// mutants.
  func mutants(blamedAt line: Int) -> [Mutant] {
    func distance(_ range: ClosedRange<Int>) -> Int { max(range.lowerBound - line, line - range.upperBound, 0) }
    guard let nearest = lines.map({ distance($0.range) }).min() else { return [] }
    return lines.filter { distance($0.range) == nearest }.map(\.mutant)
  }
}
