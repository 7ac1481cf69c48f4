import Testing

/// The reasons beside code that the compiler cannot check.
///
/// A promise about sendability has its reason beside it. Any other unsafe construct has a reason beside it too, or a
/// comment "Safety of …" that names the construct: in the same file, in `Type.swift` for a file `Type+Facet.swift`, or,
/// with the words "in this module", anywhere in the module. `_withUnsafeGuaranteedRef` rests on the reason of the
/// `Unmanaged` that it belongs to.
@Suite("Reasons of unsafe code")
struct UnsafeCodeTests {
  private let files: [SourceFile]

  /// Files without any of these words have no unsafe construct, and their code need not be scanned.
  private static let hints = ["nsafe", "Unmanaged", "unchecked", "Memory"]

  init() throws {
    files = try Repository().sources(in: "Modules", "Backends", "Tests", "Tools/Sources", "Tools/Mutation").filter {
      $0.mentions(Self.hints)
    }
  }

  @Test func `every promise about sendability has its reason beside it`() {
    let places = files.flatMap { file in
      let code = file.code
      return code.indices.filter { line in
        Self.sendability.contains { code[line].contains($0) } && !Self.hasComment(besideLine: line, of: file)
      }
      .map { "\(file.path):\($0 + 1)" }
    }
    #expect(places == [], "Say in a comment why this is safe.")
  }

  @Test func `every unsafe construct has a reason, beside it or at the type that owns it`() {
    let reasons = files.map { (path: $0.path, comment: Self.safetyComment(of: $0)) }.filter { !$0.comment.isEmpty }
    for file in files {
      let code = file.code
      let known = reasons.filter { Self.applies(reasonsOf: $0.path, $0.comment, to: file) }.map(\.comment)
      for construct in Self.constructs
      where file.mentions([construct]) && !known.contains(where: { $0.contains(construct) }) {
        let places = code.indices.filter { line in
          Self.uses(construct, in: code[line]) && !Self.hasComment(besideLine: line, of: file)
        }
        #expect(places.isEmpty, "\(file.path): give the safety of `\(construct)` in lines \(places.map { $0 + 1 }).")
      }
    }
  }

  private static let sendability = ["@unchecked Sendable", "nonisolated(unsafe)"]
  private static let constructs = [
    "Unmanaged", "unowned(unsafe)", "unsafeBitCast", "unsafeDowncast", "unsafelyUnwrapped", "@exclusivity(unchecked)",
    "_unsafeLock", "_unsafeUnlock", "_unsafe", "assumingMemoryBound", "withMemoryRebound", "bindMemory",
  ]

  /// Whether a line has the construct, and not as the end of a longer name.
  private static func uses(_ construct: String, in line: String) -> Bool {
    line.ranges(of: construct).contains { range in
      let before = line[..<range.lowerBound].last
      return before.map { $0.isLetter || $0.isNumber } != true
    }
  }

  /// Whether the reasons in one file apply to another file.
  private static func applies(reasonsOf path: String, _ comment: String, to file: SourceFile) -> Bool {
    if path == file.path { return true }
    guard module(of: path) == module(of: file.path) else { return false }
    let owner = file.name.split(separator: "+").first.map { "/\($0).swift" }
    return comment.contains("in this module") || owner.map(path.hasSuffix) == true
  }

  /// The first two folders of a path.
  private static func module(of path: String) -> String {
    path.split(separator: "/").prefix(2).joined(separator: "/")
  }

  /// The comments of a file that begin with "Safety of", on one line.
  private static func safetyComment(of file: SourceFile) -> String {
    var isSafety = false
    return file.lines.map { $0.drop { $0 == " " } }.filter { line in
      guard line.hasPrefix("// ") else {
        isSafety = false
        return false
      }
      isSafety = isSafety || line.hasPrefix("// Safety of")
      return isSafety
    }
    .map { $0.dropFirst(3) }.joined(separator: " ")
  }

  /// A comment on the line, directly above (attributes may come between) or, for a type, first thing inside. The
  /// purpose of a declaration is not a reason: a documentation comment counts only if it mentions sendability.
  private static func hasComment(besideLine index: Int, of file: SourceFile) -> Bool {
    if file.lines[index].contains("//") { return true }
    let above = file.lines[..<index].reversed().first { !trimmed($0).hasPrefix("@") }
    let below = file.lines[(index + 1)...].first
    return [above, below].compactMap { $0.map(trimmed) }.contains { line in
      line.hasPrefix("///") ? line.contains("Sendable") : line.hasPrefix("//")
    }
  }

  private static func trimmed(_ line: String) -> Substring {
    line.drop { $0.isWhitespace }
  }
}
