import Coherence

extension Workbench {
  /// Reads an inherited attribute of objects of one entity, and of objects of four entities in turn.
  func accessorMeasure() -> Measure {
    keyMeasure("accessor", "Read an inherited attribute", item: "read", atMost: 1.5) { $0.number }
  }

  /// Makes the collection of a to-many relationship and counts its members.
  func toManyMeasure() -> Measure {
    keyMeasure("to-many-again", "Count the members of a relationship again", item: "read", atMost: 1.5) {
      $0.parts.count
    }
  }

  /// Reads attributes by the accessors that `@Entity` writes, and by accessors with keys of the class.
  func declaredReadMeasure() -> Measure {
    dialMeasure("declared-read", "Read a number and a text by the accessors of @Entity", item: "read") { object, _ in
      object.number &+ object.name.utf8.count
    } byKey: { object, _ in
      object.numberByKey &+ object.nameByKey.utf8.count
    }
  }

  /// Sets an attribute by the accessor that `@Entity` writes, and by an accessor with a key of the class.
  func declaredWriteMeasure() -> Measure {
    dialMeasure("declared-write", "Set a number by the accessor of @Entity", item: "write") { object, index in
      object.number = index
      return index
    } byKey: { object, index in
      object.numberByKey = index
      return index
    }
  }

  private func dialMeasure(
    _ name: String, _ title: String, item: String, byTable: @escaping (DialObject, Int) -> Int,
    byKey: @escaping (DialObject, Int) -> Int
  ) -> Measure {
    let count = 1_000_000
    return Measure(
      name: name, title: title, items: count, item: item,
      sides: [
        Side(name: "@Entity", role: .ours) { try DialObject.sample(count, byTable) },
        Side(name: "by hand", role: .ours) { try DialObject.sample(count, byKey) },
      ],
      goals: [.between("@Entity", and: "by hand", atMost: 1.03)])
  }

  private func keyMeasure(
    _ name: String, _ title: String, item: String, atMost factor: Double, _ read: @escaping (MachineObject) -> Int
  ) -> Measure {
    let reads = 1_000_000
    func side(_ title: String, _ entities: [String]) -> Side {
      Side(name: title, role: .ours) { try MachineObject.sample(entities, reads, read) }
    }
    return Measure(
      name: name, title: title, items: reads, item: item,
      sides: [
        side("one entity", ["Machine"]), side("mixed subentities", ["Machine", "Saw", "ChainSaw", "Drill"]),
      ],
      goals: [.between("mixed subentities", and: "one entity", atMost: factor)])
  }
}
