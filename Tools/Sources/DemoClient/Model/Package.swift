import Coherence

/// A package of the catalog.
package final class Package: ManagedObject, KeyPathNaming {
  private static let nameKey = AttributeKey<String>("name")
  private static let versionKey = AttributeKey<String>("version")
  private static let installedSizeKey = AttributeKey<Int>("installedSize")
  private static let summaryKey = AttributeKey<String>("summary")
  private static let revisionKey = AttributeKey<Int>("revision")
  private static let sectionKey = ToOneKey<Section>("section")
  private static let maintainerKey = ToOneKey<Maintainer>("maintainer")
  private static let dependenciesKey = ToManyKey<Package>("dependencies")
  private static let dependentsKey = ToManyKey<Package>("dependents")

  package var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  /// The version of the software, not of the record.
  package var softwareVersion: String {
    get { self[Self.versionKey] }
    set { self[Self.versionKey] = newValue }
  }
  /// In KiB.
  package var installedSize: Int {
    get { self[Self.installedSizeKey] }
    set { self[Self.installedSizeKey] = newValue }
  }
  package var summary: String {
    get { self[Self.summaryKey] }
    set { self[Self.summaryKey] = newValue }
  }
  /// Counts the edits at the service.
  package var revision: Int {
    get { self[Self.revisionKey] }
    set { self[Self.revisionKey] = newValue }
  }
  package var section: Section? {
    get { self[Self.sectionKey] }
    set { self[Self.sectionKey] = newValue }
  }
  package var maintainer: Maintainer? {
    get { self[Self.maintainerKey] }
    set { self[Self.maintainerKey] = newValue }
  }
  /// The packages that this package needs.
  package var dependencies: ToMany<Package> { self[Self.dependenciesKey] }
  /// The packages that need this package.
  package var dependents: ToMany<Package> { self[Self.dependentsKey] }

  package static var propertyNames: [AnyKeyPath: String] {
    [
      \Package.name: "name", \Package.softwareVersion: "version", \Package.installedSize: "installedSize",
      \Package.summary: "summary", \Package.revision: "revision", \Package.section: "section",
      \Package.maintainer: "maintainer", \Package.dependencies: "dependencies", \Package.dependents: "dependents",
    ]
  }
}
