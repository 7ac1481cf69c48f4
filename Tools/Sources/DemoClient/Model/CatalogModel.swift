import Coherence

/// The model of the demo, in two configurations: one for the durable catalog, one for the records of this run.
package enum CatalogModel {
  /// The configuration of packages, sections and maintainers.
  package static let catalog = "Catalog"
  /// The configuration of the records of this run.
  package static let session = "Session"

  package static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Package.self, Section.self, Maintainer.self, PageFetch.self, name: "Packages",
      configurations: [
        catalog: [Package.self, Section.self, Maintainer.self], session: [PageFetch.self],
      ])
  }
}
