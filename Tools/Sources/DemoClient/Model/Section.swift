import Coherence

/// The category of a package, such as "libs" or "editors".
package final class Section: ManagedObject, KeyPathNaming {
  private static let nameKey = AttributeKey<String>("name")
  private static let packagesKey = ToManyKey<Package>("packages")

  package var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  package var packages: ToMany<Package> { self[Self.packagesKey] }

  package static var propertyNames: [AnyKeyPath: String] {
    [\Section.name: "name", \Section.packages: "packages"]
  }
}
