import Coherence

/// The model of the demo, in two configurations: one for the durable catalog, one for the records of this run.
package enum CatalogModel {
  /// The configuration of packages, sections and maintainers.
  package static let catalog = "Catalog"
  /// The configuration of what happened in this run.
  package static let session = "Session"

  package static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "Packages",
      configurations: [catalog: ["Package", "Section", "Maintainer"], session: ["PageFetch"]],
      entities: {
        package
        section
        maintainer
        pageFetch
      })
  }

  private static var package: Entity {
    Entity("Package", class: Package.self, uniqueness: [["name"]], indexes: [["installedSize"]]) {
      Attribute("name", .string, validation: [.minimumLength(1)])
      Attribute("version", .string)
      Attribute("architecture", .string)
      Attribute("installedSize", .int64, default: 0, validation: [.minimum(.int(0))])
      Attribute("summary", .string, default: "")
      Attribute("revision", .int64, default: 0)
      Relationship("section", toOne: "Section", inverse: "packages")
      Relationship("maintainer", toOne: "Maintainer", inverse: "packages")
      Relationship("dependencies", toMany: "Package", inverse: "dependents")
      Relationship("dependents", toMany: "Package", inverse: "dependencies")
    }
  }

  private static var section: Entity {
    Entity("Section", class: Section.self, uniqueness: [["name"]]) {
      Attribute("name", .string)
      Relationship("packages", toMany: "Package", inverse: "section")
    }
  }

  /// One person may look after packages under several names, and several people share the address of a list.
  private static var maintainer: Entity {
    Entity("Maintainer", class: Maintainer.self, uniqueness: [["email", "name"]]) {
      Attribute("email", .string)
      Attribute("name", .string)
      Relationship("packages", toMany: "Package", inverse: "maintainer")
    }
  }

  private static var pageFetch: Entity {
    Entity("PageFetch", class: PageFetch.self, uniqueness: [["page"]]) {
      Attribute("page", .int64)
      Attribute("etag", .string, default: "")
      Attribute("packages", .int64, default: 0)
      Attribute("bytes", .int64, default: 0)
      Attribute("seconds", .double, default: 0.0)
    }
  }
}
