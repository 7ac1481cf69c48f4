import Coherence
import Foundation

/// Queries of the graph of packages, in the view context.
@MainActor
package struct GraphAnswers {
  private let context: ManagedObjectContext

  package init(_ stack: DemoStack) { context = stack.connect.viewContext }

  /// A package, with the number of its related packages.
  package struct Degree: Equatable, Sendable {
    package let name: String
    package let count: Int
  }

  /// The package with the most direct dependents.
  package func mostNeeded() throws -> Degree? {
    try most(FetchRequest().prefetch(\.dependents)) { $0.dependents.count }
  }

  /// The package with the most direct dependencies.
  package func mostNeedy() throws -> Degree? {
    try most(FetchRequest().prefetch(\.dependencies)) { $0.dependencies.count }
  }

  /// Returns the package with the greatest number; the first by name of packages with equal numbers.
  private func most(_ request: FetchRequest<Package>, _ count: (Package) -> Int) throws -> Degree? {
    try context.fetch(request.sort(\.name)).map { Degree(name: $0.name, count: count($0)) }
      .max { $0.count < $1.count }
  }

  /// The sections with the most packages.
  package func largestSections(_ limit: Int) throws -> [Degree] {
    let request = FetchRequest(Section.self).prefetch(\.packages)
    let sections = try context.fetch(request).map { Degree(name: $0.name, count: $0.packages.count) }
    return Array(sections.sorted { ($1.count, $0.name) < ($0.count, $1.name) }.prefix(limit))
  }

  /// The largest packages without dependents, above a size in KiB, with their sizes.
  package func largestUnneeded(above size: Int, limit: Int) throws -> [Degree] {
    let request = FetchRequest(Package.self)
      .filter { $0.installedSize > size && $0.dependents.isEmpty && !$0.section.name.hasSuffix("doc") }
      .sort(\.installedSize, .reverse)
      .limit(limit)
    return try context.fetch(request).map { Degree(name: $0.name, count: $0.installedSize) }
  }

  package func needs(of name: String) throws -> Needs? { try Needs(of: name, in: context) }

  /// Counts the records of an entity.
  package func count<O: ManagedObject>(_ type: O.Type) throws -> Int { try context.count(for: FetchRequest(type)) }

  /// The pages fetched in this run, slowest first.
  package func pages() throws -> [(page: Int, packages: Int, bytes: Int, seconds: Double)] {
    try context.fetch(FetchRequest(PageFetch.self).sort(\.seconds, .reverse))
      .map { ($0.page, $0.packages, $0.bytes, $0.seconds) }
  }

  /// Packages by name, with the versions of their rows.
  package func packages(_ rows: [RowChange]) throws -> [(name: String, summary: String, row: RowChange)] {
    let changes = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
    return try context.fetch(FetchRequest(Package.self).filter { $0.isIn(rows.map(\.id)) }.sort(\.name))
      .compactMap { package in changes[package.objectID].map { (package.name, package.summary, $0) } }
  }
}
