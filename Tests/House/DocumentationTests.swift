import Foundation
import Testing

/// The pages of the documentation catalogs: one for each product, with compiled code and sections for error codes.
@Suite("The documentation")
struct DocumentationTests {
  private let repository = Repository()

  @Test func `every product has a landing page`() throws {
    let products = try repository.lines(of: "Package.swift").compactMap { line in
      line.firstMatch(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
    }
    #expect(products.count >= 14)
    let titles = try Set(pages().compactMap(\.lines.first))
    for product in products { #expect(titles.contains("# ``\(product)``"), "Add a catalog for \(product).") }
  }

  @Test func `every example of a page is a part of a file of the tests`() throws {
    let sources = try repository.sources(in: "Tests")
    let places = Self.places(in: sources)
    var count = 0
    for page in try pages() {
      for example in Self.examples(of: page) {
        count += 1
        let first = example.first.map { String($0.drop { $0 == " " }) } ?? ""
        let isCompiled = places[first, default: []].contains { place in
          Self.isPart(example, of: sources[place.file].lines[place.line...])
        }
        #expect(isCompiled, "\(page.path) has an example that no file of the tests contains: \(first)")
      }
    }
    #expect(count >= 60)
  }

  @Test func `every error code has a section`() throws {
    let headings = try Set(pages().flatMap(\.lines).filter { $0.hasPrefix("### ") })
    let files = try repository.sources(in: "Modules", "Backends").filter { $0.mentions(["= ErrorCode("]) }
    let codes = files.flatMap(\.lines).compactMap { line in
      line.firstMatch(of: /static let (\w+) = ErrorCode\("/).map { String($0.1) }
    }
    #expect(codes.count >= 60)
    for code in codes { #expect(headings.contains("### \(code)"), "Explain the error code \(code).") }
  }

  @Test func `every public type is under a topic of the landing page of its product`() throws {
    var count = 0
    for page in try pages() {
      guard let match = page.lines.first?.firstMatch(of: /^# ``(\w+)``$/) else { continue }
      let product = String(match.1)
      let topics = page.lines.drop { $0 != "## Topics" }
      for type in try publicTypes(of: product) {
        count += 1
        #expect(topics.contains("- ``\(type)``"), "Add '\(type)' to a topic of the landing page of \(product).")
      }
    }
    #expect(count >= 400)
  }

  /// The public types of a product that are not members of other types.
  private func publicTypes(of product: String) throws -> [String] {
    try repository.lines(of: "API/\(product).txt").compactMap { line in
      line.firstMatch(of: /^(\w+)  (?:[@\w()]+ )*(?:actor|class|enum|protocol|struct|typealias)\b/).map { String($0.1) }
    }
  }

  // MARK: Pages and examples

  /// The pages of all catalogs, with the catalog's path.
  private func pages() throws -> [SourceFile] {
    try ["Modules", "Backends", "Tests"].flatMap { folder in
      let files = FileManager.default.enumerator(
        at: repository.root.appendingPathComponent(folder), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
      let pages = (files?.compactMap { $0 as? URL } ?? []).filter { url in
        url.pathExtension == "md" && url.path.contains(".docc/")
      }
      return try pages.sorted { $0.path < $1.path }.map { try SourceFile.at($0, under: repository.root) }
    }
  }

  /// The blocks of Swift of a page.
  private static func examples(of page: SourceFile) -> [[String]] {
    var examples: [[String]] = []
    var lines = page.lines[...]
    while let start = lines.firstIndex(of: "```swift") {
      let code = lines[(start + 1)...].prefix { $0 != "```" }
      examples.append(Array(code))
      lines = lines[code.endIndex...].dropFirst()
    }
    return examples
  }

  private struct Place {
    let file: Int
    let line: Int
  }

  /// The places of each line, without its indentation.
  private static func places(in sources: [SourceFile]) -> [String: [Place]] {
    var places: [String: [Place]] = [:]
    for (file, source) in sources.enumerated() {
      for (line, text) in source.lines.enumerated() {
        places[String(text.drop { $0 == " " }), default: []].append(Place(file: file, line: line))
      }
    }
    return places
  }

  /// Whether lines begin with an example, each line indented by the same number of spaces.
  private static func isPart(_ example: [String], of lines: ArraySlice<String>) -> Bool {
    guard let first = example.first, let line = lines.first, lines.count >= example.count else { return false }
    let indentation = String(repeating: " ", count: max(0, line.count - first.count))
    return zip(example, lines).allSatisfy { $0.isEmpty ? $1.isEmpty : indentation + $0 == $1 }
  }
}
