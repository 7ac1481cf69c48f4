import Foundation
import Testing

@testable import CoherenceCore

/// The derived values that a save computes again: those that its changes may affect, and no others.
@Suite struct AffectedDerivationsTests {
  private let model: ManagedObjectModel
  private let spaces: IDSpaces

  init() throws {
    model = try ManagedObjectModel(configurations: ["Records": ["Record"], "Library": ["Record", "Song"]]) {
      Entity("Record") {
        Attribute("name", .string, optional: true)
        Attribute("songCount", .int64, derived: .count("songs"))
        Attribute("length", .int64, derived: .sum("songs.length"))
        Attribute("labelCount", .int64, derived: .count("labels"))
        Attribute("labelWeight", .double, derived: .sum("labels.weight"))
        Attribute("prizeCount", .int64, derived: .count("prizes"))
        Attribute("singerName", .string, derived: .path("singer.name"))
        Relationship("songs", toMany: "Song", inverse: "record")
        Relationship("labels", toMany: "Label", inverse: "records")
        Relationship("prizes", toMany: "Prize", inverse: nil)
        Relationship("singer", toOne: "Singer", inverse: "records")
      }
      Entity("LiveRecord", parent: "Record")
      Entity("Song") {
        Attribute("name", .string, optional: true)
        Attribute("length", .int32, optional: true)
        Attribute("plays", .int64, optional: true)
        Attribute("singerName", .string, derived: .path("record.singer.name"))
        Attribute("originalName", .string, derived: .path("original.name"))
        Relationship("record", toOne: "Record", inverse: "songs")
        Relationship("original", toOne: "Song", inverse: nil, deleteRule: .noAction)
      }
      Entity("Label") {
        Attribute("name", .string, optional: true)
        Attribute("weight", .double, default: 1.0)
        Relationship("records", toMany: "Record", inverse: "labels")
      }
      Entity("Prize") { Attribute("name", .string, optional: true) }
      Entity("Singer") {
        Attribute("name", .string, optional: true)
        Attribute("age", .int64, optional: true)
        Relationship("records", toMany: "Record", inverse: "singer")
      }
      Entity("Note") { Attribute("text", .string, optional: true) }
    }
    spaces = IDSpaces(store: StoreIdentifier("derivations"), model: model)
  }

  // MARK: Fixtures

  private func reference(_ entity: String, _ key: Int64) throws -> AttributeValue {
    .reference(ManagedObjectID(space: spaces[try model.entity(named: entity)], key: key))
  }

  private func slot(_ name: String, of entity: EntityDescription) -> Int {
    entity.propertiesByName[name]?.slotInRow ?? -1
  }

  /// A row with the values given, and null in the other slots.
  private func row(_ entityName: String, _ key: Int64, _ values: [String: AttributeValue] = [:]) throws -> Row {
    let entity = try model.entity(named: entityName)
    var slots = [AttributeValue](repeating: .null, count: entity.slotCount)
    for (name, value) in values { slots[slot(name, of: entity)] = value }
    return Row.make(id: ManagedObjectID(space: spaces[entity], key: key), entity: entity, version: 1, values: slots)
  }

  /// The texts of the updates of a save, sorted.
  private func updates(
    in configuration: String? = nil, _ change: (inout RowChanges) throws -> Void
  ) throws -> [String] {
    var changes = RowChanges()
    try change(&changes)
    let environment = StoreEnvironment(
      type: StoreType("Some"), url: nil, configurationName: configuration, model: model)
    return AffectedDerivations.updates(of: changes, in: environment).map { text(of: $0) }.sorted()
  }

  /// The texts of the updates after the update of a row, sorted.
  private func updates(
    of entity: String, from base: [String: AttributeValue], to values: [String: AttributeValue],
    in configuration: String? = nil
  ) throws -> [String] {
    let (former, present) = (try row(entity, 10, base), try row(entity, 10, values))
    return try updates(in: configuration) { $0.update(former, to: present) }
  }

  /// The attributes of an update, the keys of their owners, and the routes from the keys of changed records.
  private func text(of update: DerivationUpdate) -> String {
    let names = update.derivations.map(\.attribute.name).sorted().joined(separator: ",")
    var text = "\(update.entity.name).\(names)"
    if !update.owners.isEmpty { text += " of \(update.owners.sorted())" }
    for route in update.routes.map({ "\(self.text(of: $0.key)) \($0.value.sorted())" }).sorted() {
      text += " by \(route)"
    }
    return text
  }

  private func text(of route: DerivationUpdate.Route) -> String {
    switch route {
    case .path(let steps): return steps.map(\.name).joined(separator: ".")
    case .members(let relationship): return "members of \(relationship.name)"
    }
  }

  // MARK: Inserts and deletes

  @Test func `an inserted record affects its owner's values and its own paths`() throws {
    let (record, original) = (try reference("Record", 1), try reference("Song", 5))
    let song = try row("Song", 10, ["record": record])
    #expect(try updates { $0.insert(song) } == ["Record.length,songCount of [1]", "Song.singerName of [10]"])
    let cover = try row("Song", 11, ["original": original])
    #expect(try updates { $0.insert(cover) } == ["Song.originalName of [11]"])
    let single = try row("Song", 12)
    #expect(try updates { $0.insert(single) } == [])
    let live = try row("LiveRecord", 3, ["singer": try reference("Singer", 7)])
    #expect(try updates { $0.insert(live) } == ["Record.singerName of [3]"])
    let others = [try row("Singer", 7), try row("Label", 8), try row("Prize", 9), try row("Note", 6)]
    #expect(try updates { changes in for row in others { changes.insert(row) } } == [])
  }

  @Test func `a restored record affects all own values, and values of records with possible paths to it`() throws {
    let (song, record, label) = (try row("Song", 10), try row("Record", 1), try row("Label", 3))
    #expect(
      try updates { $0.insert(song, isRestored: true) } == ["Song.originalName,singerName of [10] by original [10]"])
    #expect(
      try updates { $0.insert(record, isRestored: true) } == [
        "Record.labelCount,labelWeight,length,prizeCount,singerName,songCount of [1]", "Song.singerName by record [1]",
      ])
    #expect(try updates { $0.insert(label, isRestored: true) } == [])
  }

  @Test func `a deleted record affects its owner's values, and the paths whose references stay`() throws {
    let song = try row("Song", 10, ["record": try reference("Record", 1)])
    #expect(
      try updates { $0.delete(song) } == ["Record.length,songCount of [1]", "Song.originalName by original [10]"])
    let single = try row("Song", 11)
    #expect(try updates { $0.delete(single) } == ["Song.originalName by original [11]"])
    // A delete clears these references, or removes the links, as changes of their own.
    let others = [try row("Singer", 7), try row("Record", 1), try row("Label", 3), try row("Prize", 4)]
    #expect(try updates { changes in for row in others { changes.delete(row) } } == [])
  }

  // MARK: Updates

  @Test func `a changed value affects the values that read it`() throws {
    let (record, other) = (try reference("Record", 1), try reference("Record", 2))
    let former: [String: AttributeValue] = ["record": record, "length": .int(3)]
    #expect(
      try updates(of: "Song", from: former, to: ["record": record, "length": .int(4)]) == ["Record.length of [1]"])
    #expect(
      try updates(of: "Song", from: former, to: ["record": other, "length": .int(3)]) == [
        "Record.length,songCount of [1, 2]", "Song.singerName of [10]",
      ])
    #expect(
      try updates(of: "Song", from: [:], to: ["name": .string("x")]) == ["Song.originalName by original [10]"])
    #expect(try updates(of: "Song", from: [:], to: ["length": .int(4)]) == [])
    #expect(try updates(of: "Song", from: former, to: former.merging(["plays": .int(1)]) { $1 }) == [])
    #expect(
      try updates(of: "Song", from: [:], to: ["original": try reference("Song", 5)]) == ["Song.originalName of [10]"])
  }

  @Test func `a change on a path affects the values at the beginning of the path`() throws {
    #expect(
      try updates(of: "Singer", from: [:], to: ["name": .string("x")]) == [
        "Record.singerName by singer [10]", "Song.singerName by record.singer [10]",
      ])
    #expect(try updates(of: "Singer", from: [:], to: ["age": .int(9)]) == [])
    for entity in ["Record", "LiveRecord"] {
      #expect(
        try updates(of: entity, from: [:], to: ["singer": try reference("Singer", 7)]) == [
          "Record.singerName of [10]", "Song.singerName by record [10]",
        ])
      #expect(try updates(of: entity, from: [:], to: ["name": .string("x")]) == [])
    }
  }

  @Test func `a changed value of a linked member affects the owners of the member`() throws {
    #expect(
      try updates(of: "Label", from: ["weight": .double(1)], to: ["weight": .double(2)]) == [
        "Record.labelWeight by members of labels [10]"
      ])
    #expect(try updates(of: "Label", from: [:], to: ["name": .string("x")]) == [])
    #expect(try updates(of: "Prize", from: [:], to: ["name": .string("x")]) == [])
  }

  @Test func `added and removed links affect the owners at their ends`() throws {
    let record = try model.entity(named: "Record")
    for (name, attributes) in [("labels", "labelCount,labelWeight"), ("prizes", "prizeCount")] {
      guard case .links(let table, let isForward)? = record.relationship(named: name)?.storage else {
        Issue.record("'\(name)' has no links.")
        continue
      }
      func link(_ owner: Int64, _ member: Int64) -> Link {
        isForward ? Link(source: owner, target: member) : Link(source: member, target: owner)
      }
      #expect(try updates { $0.links.add(link(1, 8), to: table) } == ["Record.\(attributes) of [1]"])
      #expect(try updates { $0.links.remove(link(2, 9), from: table) } == ["Record.\(attributes) of [2]"])
    }
  }

  @Test func `a store computes no value from records that it does not hold`() throws {
    let record = try reference("Record", 1)
    let song = try row("Song", 10, ["record": record])
    #expect(try updates(in: "Library") { $0.insert(song) } == ["Record.length,songCount of [1]"])
    let restored = try row("Record", 1)
    #expect(
      try updates(in: "Library") { $0.insert(restored, isRestored: true) } == ["Record.length,songCount of [1]"])
    #expect(try updates(in: "Records") { $0.insert(restored, isRestored: true) } == [])
  }

  // MARK: Batch requests

  @Test func `a batch request concerns derived values by the slots that they read, or by inserts and deletes`() throws {
    func isConcerned(_ entity: String, _ names: String?...) throws -> Bool {
      let entity = try model.entity(named: entity)
      let note = try model.entity(named: "Note")
      let slots = names.contains(nil) ? nil : SlotSet(names.compactMap { $0 }.map { slot($0, of: entity) })
      return model.derivations.isConcerned(by: [note, entity], slots: slots)
    }
    let reads = [
      ("Song", ["name", "length", "record", "original"]), ("Record", ["singer"]), ("LiveRecord", ["singer"]),
      ("Singer", ["name"]), ("Label", ["weight"]),
    ]
    for (entity, names) in reads {
      for name in names { #expect(try isConcerned(entity, name), "\(entity).\(name)") }
      #expect(try isConcerned(entity, nil), "\(entity)")
    }
    for (entity, name) in [("Song", "plays"), ("Record", "name"), ("Singer", "age"), ("Label", "name")] {
      #expect(try !isConcerned(entity, name), "\(entity).\(name)")
    }
    // A deleted prize takes its links along, and with them a part of a count.
    #expect(try isConcerned("Prize", nil))
    #expect(try !isConcerned("Prize", "name"))
    #expect(try !isConcerned("Note", nil))
    #expect(!model.derivations.isEmpty)
    #expect(try ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }.derivations.isEmpty)
  }
}
