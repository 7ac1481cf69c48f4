import Coherence

/// A person or a group that maintains packages.
package final class Maintainer: ManagedObject, DeclaredEntity {
  package var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  package var email: String {
    get { self[Properties.table.email] }
    set { self[Properties.table.email] = newValue }
  }
  package var packages: ToMany<Package> { self[Properties.table.packages] }

  package struct Properties: EntityProperties {
    package static let table = Properties()
    package let name = AttributeKey<String>("name")
    package let email = AttributeKey<String>("email")
    package let packages = ToManyKey<Package>("packages")
  }

  package static var entityName: String { "Maintainer" }
  package static var entityDeclaration: Entity {
    // One person may look after packages under several names, and several people share the address of a list.
    Entity(entityName, class: Maintainer.self, uniqueness: [["email", "name"]]) {
      Attribute("email", .string)
      Attribute("name", .string)
      Relationship("packages", toMany: Package.entityName)
    }
  }
  package static var propertyNames: [AnyKeyPath: String] {
    [\Maintainer.name: "name", \Maintainer.email: "email", \Maintainer.packages: "packages"]
  }
}
