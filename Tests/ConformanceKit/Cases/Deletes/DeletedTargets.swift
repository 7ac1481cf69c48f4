import CoherenceCore

extension ConformanceSubject {
  /// A relationship to a record that another writer deleted is refused. Stores do not check a to-one relationship without
  /// an inverse, because a delete cannot find its owners.
  static let deletedTargets = ConformanceSubject("Deleted targets") {
    refused("a to-one relationship", entity: "Album", "title", "artist", to: "Band", "name")
    refused("a relationship of many to many", entity: "Album", "title", "genres", to: "Genre", "name")
    refused("a relationship of one to many", entity: "Label", "name", "performers", to: "Band", "name")
    refused("members without an inverse", entity: "Playlist", "name", "favourites", to: "Track", "title")
    refused("ordered members without an inverse", entity: "Playlist", "name", "entries", to: "Track", "title")
  }

  private static func refused(
    _ kind: String, entity: String, _ name: String, _ relationship: String, to target: String, _ targetName: String
  ) -> Case {
    Case("\(kind) to a record deleted by another writer is refused") { stack in
      try stack.write { context in
        try context.make(entity, [name: "owner"])
        for label in ["gone", "kept"] { try context.make(target, [targetName: label]) }
      }
      func relate(_ owner: ManagedObject, to targets: [ManagedObject]) throws {
        if owner.entity.relationship(named: relationship)?.isToMany == true {
          try owner.setObjects(targets, for: relationship)
        } else {
          try owner.setObject(targets.last, for: relationship)
        }
      }
      try stack.read { context in
        let owner = try context.one(entity)
        let targets = try ["kept", "gone"].map { try context.one(target, where: equal(targetName, $0)) }
        try stack.write { $0.delete(try $0.one(target, where: equal(targetName, "gone"))) }
        try relate(owner, to: targets)
        try expectThrows(oneOf: [.danglingReference, .versionConflict]) { try context.save() }
      }
      try stack.read { context in
        let owner = try context.one(entity)
        try expectEqual(owner.version, 1)
        try relate(owner, to: [try context.one(target)])
        try context.save()
      }
    }
  }
}
