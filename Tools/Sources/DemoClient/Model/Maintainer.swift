import Coherence

/// A person or a group that maintains packages.
package final class Maintainer: ManagedObject, KeyPathNaming {
  private static let nameKey = AttributeKey<String>("name")
  private static let emailKey = AttributeKey<String>("email")
  private static let packagesKey = ToManyKey<Package>("packages")

  package var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  package var email: String {
    get { self[Self.emailKey] }
    set { self[Self.emailKey] = newValue }
  }
  package var packages: ToMany<Package> { self[Self.packagesKey] }

  package static var propertyNames: [AnyKeyPath: String] {
    [\Maintainer.name: "name", \Maintainer.email: "email", \Maintainer.packages: "packages"]
  }
}
