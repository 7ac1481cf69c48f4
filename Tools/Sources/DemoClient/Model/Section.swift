import Coherence

/// The category of a package, such as "libs" or "editors".
package final class Section: ManagedObject, DeclaredEntity {
  package var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  package var packages: ToMany<Package> { self[Properties.table.packages] }

  package struct Properties: EntityProperties {
    package static let table = Properties()
    package let name = AttributeKey<String>("name")
    package let packages = ToManyKey<Package>("packages")
  }

  package static var entityName: String { "Section" }
  package static var entityDeclaration: Entity {
    Entity(entityName, class: Section.self, uniqueness: [["name"]]) {
      Attribute("name", .string)
      Relationship("packages", toMany: Package.entityName)
    }
  }
  package static var propertyNames: [AnyKeyPath: String] { [\Section.name: "name", \Section.packages: "packages"] }
}
