/// An object that adds records to the saves of a coordinator, in the transactions of the saves.
///
/// A participant receives the changes that a save makes in a store, and adds records about them: entries of an audit
/// trail or an outbox, or totals. The store commits the added records and the changes together or not at all, in every
/// kind of store.
///
/// ```swift
/// final class AuditTrail: SaveParticipant {
///   func observes(_ entity: EntityDescription) -> Bool { entity.name == "Account" }
///
///   func participate(in save: inout SaveParticipation) throws {
///     let entry = try save.model.entity(named: "Entry")
///     guard let text = entry.attribute(named: "text") else { return }
///     for change in save.changes {
///       let names = change.changedProperties.map(\.name).joined(separator: ", ")
///       var values = entry.defaultValues
///       values[text.slot] = .string("\(change.kind): \(names)")
///       try save.insert(entry, values)
///     }
///   }
/// }
/// ```
///
/// Add the participant to a coordinator with ``PersistentStoreCoordinator/addSaveParticipant(_:)``.
public protocol SaveParticipant: AnyObject, Sendable {
  /// Returns whether the participant receives changes of an entity's records.
  ///
  /// Called once for each entity of the model, abstract entities included, when the participant is added. The result
  /// for an entity does not include its subentities.
  func observes(_ entity: EntityDescription) -> Bool

  /// Adds records to a save.
  ///
  /// Called on the thread of the save, before each attempt to write observed changes into a store: after the
  /// validation, with permanent identifiers and final values. When the save meets a conflict that its merge policy
  /// resolves, the next attempt calls the method anew with the resolved values, and drops the records of the former
  /// attempt. A save into several stores calls the method for each store by itself.
  ///
  /// The method must be quick, because a store may keep other writers out while it runs, and it must not use contexts:
  /// a save of the saving context, or a change of its objects, fails the save with ``ErrorCode/illegalState``.
  ///
  /// - Throws: Any error, which fails the save: the store is as it was before. ``ManagedObjectContext/save()`` throws a
  ///   ``CoherenceError`` as it is, and any other error as the ``CoherenceError/underlying`` error of
  ///   ``ErrorCode/validationFailed``.
  func participate(in save: inout SaveParticipation) throws
}
