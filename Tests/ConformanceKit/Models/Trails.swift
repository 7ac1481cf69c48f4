import CoherenceCore
import Synchronization

/// A model with records about the changes of others.
enum Trails {
  static let model = soundModel {
    Entity("Person") {
      Attribute("name", .string)
      Relationship("tasks", toMany: "Task", inverse: "owner", deleteRule: .cascade)
      Relationship("reviews", toMany: "Task", inverse: "reviewer")
      Relationship("trails", toMany: "Trail", inverse: "person")
    }
    Entity("Task") {
      Attribute("title", .string)
      Attribute("rank", .int64, optional: true)
      Relationship("owner", toOne: "Person", inverse: "tasks")
      Relationship("reviewer", toOne: "Person", inverse: "reviews")
      Relationship("tags", toMany: "Tag", inverse: "tasks")
      Relationship("steps", toMany: "Step", inverse: "task", ordered: true)
    }
    Entity("Tag", uniqueness: [["name"]]) {
      Attribute("name", .string)
      Relationship("tasks", toMany: "Task", inverse: "tags")
    }
    Entity("Step") {
      Attribute("title", .string)
      Relationship("task", toOne: "Task", inverse: "steps")
    }
    Entity("Trail") {
      Attribute("title", .string, validation: [.minimumLength(1)])
      Attribute("author", .string, optional: true)
      Attribute("capitals", .string, derived: .uppercase("title"))
      Relationship("person", toOne: "Person", inverse: "trails")
    }
  }

  /// A model whose entities live in two stores, with a trail in each of them.
  static let divided = soundModel(configurations: ["Goods": ["Article", "Trail"], "People": ["Customer", "Trail"]]) {
    Entity("Article") { Attribute("name", .string) }
    Entity("Customer") { Attribute("name", .string) }
    Entity("Trail") {
      Attribute("title", .string)
      Attribute("author", .string, optional: true)
    }
  }
}

/// A participant that adds a trail for each change of some entities.
final class TrailKeeper: SaveParticipant {
  private let names: Set<String>
  private let act: @Sendable (inout SaveParticipation) throws -> Void
  private let received = Mutex<[[RecordedChange]]>([])

  /// - Parameters:
  ///   - names: The names of the observed entities.
  ///   - act: Runs in each call, before the trails are added.
  init(of names: String..., act: @escaping @Sendable (inout SaveParticipation) throws -> Void = { _ in }) {
    self.names = Set(names)
    self.act = act
  }

  /// The changes of each call.
  var calls: [[RecordedChange]] { received.withLock { $0 } }
  /// The changes of all calls.
  var changes: [RecordedChange] { calls.flatMap(\.self) }

  /// Returns the change of an entity's record, which must be the only one.
  func change(of name: String, file: StaticString = #fileID, line: UInt = #line) throws -> RecordedChange {
    let found = changes.filter { $0.entity.name == name }
    guard found.count == 1 else {
      throw ConformanceFailure("expected one change of '\(name)', found \(found.count)", file: file, line: line)
    }
    return found[0]
  }

  func observes(_ entity: EntityDescription) -> Bool { names.contains(entity.name) }

  func participate(in save: inout SaveParticipation) throws {
    let changes = Array(save.changes)
    received.withLock { $0.append(changes) }
    try act(&save)
    let trail = try save.model.entity(named: "Trail")
    for change in changes { try save.insert(trail, Self.values(of: trail, change, save.author)) }
  }

  private static func values(
    of trail: EntityDescription, _ change: RecordedChange, _ author: String?
  ) throws -> [AttributeValue] {
    var values = trail.defaultValues
    values[try unwrap(trail.attribute(named: "title")).slot] = .string(text(of: change))
    if let author { values[try unwrap(trail.attribute(named: "author")).slot] = .string(author) }
    if change.entity.name == "Person", change.kind != .deleted, let person = trail.relationship(named: "person")?.slot {
      values[person] = .reference(change.id)
    }
    return values
  }

  /// The kind, the entity and the label of a change, and the changed properties of an update.
  private static func text(of change: RecordedChange) -> String {
    let label = ["title", "name"].compactMap { change.entity.attribute(named: $0) }.first
    var text = "\(change.kind) \(change.entity.name)"
    if let slot = label?.slot, case .string(let name)? = (change.row ?? change.base)?[slot] { text += " \(name)" }
    guard change.kind == .updated else { return text }
    return text + ": " + change.changedProperties.map(\.name).joined(separator: ",")
  }
}
