import Coherence

/// A package of the catalog.
package final class Package: ManagedObject, DeclaredEntity {
  package var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  /// The version of the software, not of the record.
  package var softwareVersion: String {
    get { self[Properties.table.softwareVersion] }
    set { self[Properties.table.softwareVersion] = newValue }
  }
  /// In KiB.
  package var installedSize: Int {
    get { self[Properties.table.installedSize] }
    set { self[Properties.table.installedSize] = newValue }
  }
  package var summary: String {
    get { self[Properties.table.summary] }
    set { self[Properties.table.summary] = newValue }
  }
  /// Counts the edits at the service.
  package var revision: Int {
    get { self[Properties.table.revision] }
    set { self[Properties.table.revision] = newValue }
  }
  package var section: Section? {
    get { self[Properties.table.section] }
    set { self[Properties.table.section] = newValue }
  }
  package var maintainer: Maintainer? {
    get { self[Properties.table.maintainer] }
    set { self[Properties.table.maintainer] = newValue }
  }
  /// The packages that this package needs.
  package var dependencies: ToMany<Package> { self[Properties.table.dependencies] }
  /// The packages that need this package.
  package var dependents: ToMany<Package> { self[Properties.table.dependents] }

  package struct Properties: EntityProperties {
    package static let table = Properties()
    package let name = AttributeKey<String>("name")
    package let softwareVersion = AttributeKey<String>("version")
    package let installedSize = AttributeKey<Int>("installedSize")
    package let summary = AttributeKey<String>("summary")
    package let revision = AttributeKey<Int>("revision")
    package let section = ToOneKey<Section>("section")
    package let maintainer = ToOneKey<Maintainer>("maintainer")
    package let dependencies = ToManyKey<Package>("dependencies")
    package let dependents = ToManyKey<Package>("dependents")
  }

  package static var entityName: String { "Package" }
  package static var entityDeclaration: Entity {
    Entity(entityName, class: Package.self, uniqueness: [["name"]], indexes: [["installedSize"]]) {
      Attribute("name", .string, validation: [.minimumLength(1)])
      Attribute("version", .string)
      Attribute("architecture", .string)
      Attribute("installedSize", .int64, default: 0, validation: [.minimum(.int(0))])
      Attribute("summary", .string, default: "")
      Attribute("revision", .int64, default: 0)
      Relationship("section", toOne: Section.entityName, inverse: "packages")
      Relationship("maintainer", toOne: Maintainer.entityName, inverse: "packages")
      Relationship("dependencies", toMany: Package.entityName, inverse: "dependents")
      Relationship("dependents", toMany: Package.entityName)
    }
  }
  package static var propertyNames: [AnyKeyPath: String] {
    [
      \Package.name: "name", \Package.softwareVersion: "version", \Package.installedSize: "installedSize",
      \Package.summary: "summary", \Package.revision: "revision", \Package.section: "section",
      \Package.maintainer: "maintainer", \Package.dependencies: "dependencies", \Package.dependents: "dependents",
    ]
  }
}
