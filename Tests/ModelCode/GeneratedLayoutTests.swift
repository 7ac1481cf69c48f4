import CoherenceModelFiles
import Testing

@testable import CoherenceModelCode

/// Lines of exactly 100 columns, and lines with one more.
@Suite("Generated layout")
struct GeneratedLayoutTests {
  private func code(
    _ file: ModelFile, _ name: String, _ options: CodeOptions = CodeOptions()
  ) throws -> [String] {
    let files = try ModelCode(file, source: "Music.xcdatamodeld", options: options).generate().files
    return try #require(files.first { $0.name == name }).text.split(separator: "\n").map(String.init)
  }

  private func name(_ length: Int) -> String { String(repeating: "x", count: length) }

  @Test func `the arguments of a call stay on a line of 100 columns`() {
    func call(_ length: Int, room: Int = 0) -> [String] {
      SourceLine.call("f", [.text(name(length)), .text("y")], indentation: "  ", room: room)
    }
    // The indentation, the name, the parentheses and the second argument have eight columns.
    #expect(call(92) == ["  f(\(name(92)), y)"])
    #expect(call(93) == ["  f(", "    \(name(93)),", "    y)"])
    #expect(call(90, room: 2).count == 1)
    #expect(call(91, room: 2).count == 2)
  }

  @Test func `an array stays on a line of 100 columns`() {
    #expect(SourceLine.array([name(96)], indentation: "  ") == ["  [\(name(96))]"])
    #expect(SourceLine.array([name(97)], indentation: "  ") == ["  [", "    \(name(97)),", "  ]"])
  }

  @Test func `a filled line has 100 columns at most`() {
    // A line of four columns of indentation, two elements, two commas and one space.
    let fitting = SourceLine.array([name(46), name(47), name(10)], indentation: "  ")
    #expect(fitting == ["  [", "    \(name(46)), \(name(47)),", "    \(name(10)),", "  ]"])
    let wide = SourceLine.array([name(46), name(48), name(10)], indentation: "  ")
    #expect(wide == ["  [", "    \(name(46)),", "    \(name(48)), \(name(10)),", "  ]"])
  }

  @Test func `a marker and its variable stay on a line of 100 columns`() throws {
    func lines(_ length: Int) throws -> [String] {
      let attribute = ModelFile.Attribute(name(length), .string, renamingIdentifier: "y")
      let file = ModelFile(name: "Music", entities: [.init("Track", attributes: [attribute])])
      return try code(file, "Track.swift").filter { $0.contains("@Attribute") || $0.contains("var ") }
    }
    let marker = "  @Attribute(formerNames: [\"y\"])"
    let length = 100 - (marker + " var : String").count
    #expect(try lines(length) == ["\(marker) var \(name(length)): String"])
    #expect(try lines(length + 1) == [marker, "  var \(name(length + 1)): String"])
  }

  @Test func `a marker without arguments and its variable stay on a line of 100 columns`() throws {
    func lines(_ length: Int) throws -> [String] {
      let attribute = ModelFile.Attribute(name(length), .int64, isTransient: true)
      let file = ModelFile(name: "Music", entities: [.init("Track", attributes: [attribute])])
      return try code(file, "Track.swift").filter { $0.contains("@Transient") || $0.contains("var ") }
    }
    let length = 100 - "  @Transient var : Int64?".count
    #expect(try lines(length) == ["  @Transient var \(name(length)): Int64?"])
    #expect(try lines(length + 1) == ["  @Transient", "  var \(name(length + 1)): Int64?"])
  }

  @Test func `the initializer of a public structure leaves room for its brace`() throws {
    func lines(_ length: Int) throws -> [String] {
      let parts: [ModelFile.Attribute] = [.init(name(length), .double), .init("y", .double)]
      let file = ModelFile(name: "Music", composites: [.init("Box", parts: parts)])
      let lines = try code(file, "Box.swift", CodeOptions(access: .public))
      let start = try #require(lines.firstIndex { $0.hasPrefix("  public init(") })
      return Array(lines[start...].dropLast(4))
    }
    let length = 100 - "  public init(: Double, y: Double) {".count
    #expect(try lines(length) == ["  public init(\(name(length)): Double, y: Double) {"])
    #expect(
      try lines(length + 1) == ["  public init(", "    \(name(length + 1)): Double, y: Double", "  ) {"])
  }

  @Test func `the property names of a class of the program stay on a line of 100 columns`() throws {
    func lines(_ length: Int) throws -> [String] {
      let file = ModelFile(name: "Music", entities: [.init("X" + name(length - 1))])
      let lines = try code(file, "X\(name(length - 1)).swift", CodeOptions(style: .base))
      let start = try #require(lines.firstIndex { $0.contains("propertyNames:") })
      return Array(lines[start...].dropLast())
    }
    let head = "  override class var propertyNames: [AnyKeyPath: String] {"
    let length = 100 - "\(head) propertyNames(from: .self) }".count
    #expect(try lines(length) == ["\(head) propertyNames(from: X\(name(length - 1)).self) }"])
    #expect(try lines(length + 1) == [head, "    propertyNames(from: X\(name(length)).self)", "  }"])
  }

  // MARK: Literals

  @Test func `numbers of seven digits and more are grouped by thousands`() {
    let numbers: [(Int64, String)] = [
      (0, "0"), (-999_999, "-999999"), (1_000_000, "1_000_000"), (123_456_789, "123_456_789"),
      (-123_456_789, "-123_456_789"), (.min, "-9_223_372_036_854_775_808"),
    ]
    for (number, text) in numbers { #expect(ValueCode.grouped(number) == text) }
  }

  @Test(arguments: [
    ("\u{1F}", "\\u{1F}"), ("\u{7F}", "\\u{7F}"), ("\u{2028}", "\\u{2028}"), ("\u{2029}", "\\u{2029}"),
    ("\t", "\\t"), ("\r", "\\r"),
  ])
  func `a character that ends a line or has no glyph is escaped`(character: String, escape: String) {
    #expect(SwiftName.literal("a\(character)b") == "\"a\(escape)b\"")
    #expect(SwiftName.literal("a\(character)\"") == "\"a\(escape)\\\"\"")
  }
}
