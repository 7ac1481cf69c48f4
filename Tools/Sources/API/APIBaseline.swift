import Foundation

/// Prints the public interface of a module from the files that `swift symbolgraph-extract` wrote.
///
/// The lines are sorted and distinct, so that two runs print the same text.
@main
enum APIBaseline {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let directory = arguments.first, let module = arguments.last else {
      FileHandle.standardError.write(Data("usage: coherence-api DIRECTORY MODULE\n".utf8))
      exit(64)
    }
    let files = try FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: directory), includingPropertiesForKeys: nil)
    let graphs = try files.filter { isGraph($0.lastPathComponent, of: module) }
      .map { try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)) }
    // The graph of the module or the graph of its extensions of another module can declare a name.
    let names = Dictionary(
      graphs.flatMap(\.symbols).map { ($0.identifier.precise, $0.path) }, uniquingKeysWith: { first, _ in first })
    let lines = Set(graphs.flatMap { $0.lines(names: names) }).sorted()
    print(lines.joined(separator: "\n"))
  }

  /// Whether a file is the graph of the module, `Module.symbols.json`, or of its extensions of another module,
  /// `Module@Other.symbols.json`.
  private static func isGraph(_ name: String, of module: String) -> Bool {
    name.hasSuffix(".symbols.json") && (name.hasPrefix(module + ".") || name.hasPrefix(module + "@"))
  }
}
