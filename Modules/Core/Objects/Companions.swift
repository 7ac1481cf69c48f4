/// Objects related to each other before any of them had a context.
///
/// All of them live as long as one of them is held, and enter a context together. Objects do not hold each other, which
/// would keep them for ever: a released object leaves its record here, and is made again when a relationship leads to
/// it.
final class UninsertedGraph {
  private enum Member {
    case object(WeakObject)
    case record(PendingRecord)
  }
  private struct WeakObject { weak var object: ManagedObject? }
  private var members: [ManagedObjectID: Member] = [:]

  /// Brings two objects without a context together, and what they were together with before.
  static func connect(_ first: ManagedObject, _ second: ManagedObject) {
    let group = first.pending?.uninsertedGraph ?? UninsertedGraph(first)
    let other = second.pending?.uninsertedGraph ?? UninsertedGraph(second)
    guard group !== other else { return }
    if group.members.count < other.members.count { other.merge(group) } else { group.merge(other) }
  }

  private init(_ object: ManagedObject) {
    members[object.id] = .object(WeakObject(object: object))
    object.pending?.uninsertedGraph = self
  }

  private func merge(_ other: UninsertedGraph) {
    for (id, member) in other.members {
      if case .object(let reference) = member { reference.object?.pending?.uninsertedGraph = self }
      members[id] = member
    }
    other.members = [:]
  }

  /// The object of an identifier, if it is one of these.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    switch members[id] {
    case .object(let reference): return reference.object
    case .record(let record): return makeObject(record)
    case nil: return nil
    }
  }

  private func makeObject(_ record: PendingRecord) -> ManagedObject {
    let object = record.entity.objectClass.init(
      ObjectBirth(entity: record.entity, id: record.id, storage: nil, row: nil))
    object.pending = record
    // Whether the identifier was handed out is not known any more.
    object.flags.insert(.temporaryIDExposed)
    record.uninsertedGraph = self
    members[record.id] = .object(WeakObject(object: object))
    return object
  }

  /// Takes the record of a released object. The record releases the group, which holds it now.
  func replaceObject(by record: PendingRecord) {
    members[record.id] = .record(record)
    record.uninsertedGraph = nil
  }

  /// All objects, for a context to insert. They are uninsertedGraph no longer.
  func removeAll() -> [ManagedObject] {
    let objects = members.keys.sorted(by: ManagedObjectID.precedes).compactMap { object(for: $0) }
    members = [:]
    for object in objects { object.pending?.uninsertedGraph = nil }
    return objects
  }
}
