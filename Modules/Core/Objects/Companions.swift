/// Objects related to each other before any of them had a context.
///
/// All of them live as long as one of them is held, and enter a context together. Objects do not hold each other, which
/// would keep them for ever: a released object leaves its record here, and is made again when a relationship leads to
/// it.
final class Companions {
  private enum Member {
    case held(WeakObject)
    case released(PendingRecord)
  }
  private struct WeakObject { weak var object: ManagedObject? }
  private var members: [ManagedObjectID: Member] = [:]

  /// Brings two objects without a context together, and what they were together with before.
  static func unite(_ first: ManagedObject, _ second: ManagedObject) {
    let group = first.pending?.companions ?? Companions(first)
    let other = second.pending?.companions ?? Companions(second)
    guard group !== other else { return }
    if group.members.count < other.members.count { other.absorb(group) } else { group.absorb(other) }
  }

  private init(_ object: ManagedObject) {
    members[object.id] = .held(WeakObject(object: object))
    object.pending?.companions = self
  }

  private func absorb(_ other: Companions) {
    for (id, member) in other.members {
      if case .held(let reference) = member { reference.object?.pending?.companions = self }
      members[id] = member
    }
    other.members = [:]
  }

  /// The object of an identifier, if it is one of these.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    switch members[id] {
    case .held(let reference): return reference.object
    case .released(let record): return revive(record)
    case nil: return nil
    }
  }

  private func revive(_ record: PendingRecord) -> ManagedObject {
    let object = record.entity.objectClass.init(
      ObjectBirth(entity: record.entity, id: record.id, storage: nil, row: nil))
    object.pending = record
    // Whether the identifier was handed out is not known any more.
    object.flags.insert(.temporaryIDExposed)
    record.companions = self
    members[record.id] = .held(WeakObject(object: object))
    return object
  }

  /// Takes the record of a released object. The record releases the group, which holds it now.
  func keep(_ record: PendingRecord) {
    members[record.id] = .released(record)
    record.companions = nil
  }

  /// All objects, for a context to insert. They are companions no longer.
  func dissolve() -> [ManagedObject] {
    let objects = members.keys.sorted(by: ManagedObjectID.precedes).compactMap { object(for: $0) }
    members = [:]
    for object in objects { object.pending?.companions = nil }
    return objects
  }
}
