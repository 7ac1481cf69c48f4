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
