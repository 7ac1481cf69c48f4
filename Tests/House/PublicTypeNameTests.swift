import Foundation
import Testing

/// The names of the types that the products declare, from the list of the public interface of each product.
@Suite("Names of public types")
struct PublicTypeNameTests {
  private let repository = Repository()

  /// The kinds of declarations whose name stands for a type, and is ambiguous when two imported modules declare it.
  private static let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]

  /// The types outside of other types that a product declares.
  private func types(of product: String) throws -> Set<String> {
    let lines = try repository.lines(of: "API/\(product).txt")
    let names = lines.compactMap { line -> String? in
      let parts = line.split(separator: " ", omittingEmptySubsequences: false)
      guard let path = parts.first, !path.isEmpty, !path.contains("."), !path.contains("(") else { return nil }
      return parts.dropFirst().contains { Self.kinds.contains($0) } ? String(path) : nil
    }
    return Set(names)
  }

  @Test func `a program that imports all products can write the name of each type without the name of its module`()
    throws
  {
    let files = try FileManager.default.contentsOfDirectory(atPath: repository.root.appendingPathComponent("API").path)
    var products: [String: [String]] = [:]
    for file in files.sorted() where file.hasSuffix(".txt") {
      let product = String(file.dropLast(".txt".count))
      for type in try types(of: product) { products[type, default: []].append(product) }
    }
    #expect(products["ManagedObject"] == ["CoherenceCore"])
    #expect(products.filter { $0.value.count > 1 } == [:])
  }
}
