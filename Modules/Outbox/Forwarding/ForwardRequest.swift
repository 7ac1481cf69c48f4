public import CoherenceCore
public import Foundation

/// An edit of a record for a handler, which sends it to a server.
///
/// An edit consists of one or more entries of the outbox: several changes of a record become one edit while they wait.
/// A repeated attempt has the same contents and the same ``idempotencyKey``, also after a crash, and later changes of
/// the record wait behind it. Only ``keys`` and the keys of ``references`` are read anew for each attempt.
public struct ForwardRequest<Object: ManagedObject>: Sendable {
  let content: ForwardContent

  /// The name of the record's entity.
  public var entityName: String { content.entityName }
  /// Whether the record was inserted, updated or deleted.
  public var kind: OutboxEntry.Kind { content.kind }
  /// The identity of the edit, which all its attempts share. A server that ignores repeated keys applies each edit
  /// exactly once.
  public var idempotencyKey: UUID { content.idempotencyKey }
  /// The number of the attempt; the first is 1.
  public var attempt: Int { content.attempt }
  /// The record, in the store of the entry.
  public var record: OutboxRecord { content.record }
  /// The record's identifier; `nil` when the model has no entity for the
  /// record any more. The record itself may be deleted.
  public var objectID: ManagedObjectID? { content.objectID }
  /// The identifying attributes of the record at present, by name. After the server has assigned a key to an inserted
  /// record, these are the server's values.
  public var keys: [String: AttributeValue] { content.keys }
  /// The new values of changed attributes, by name: all attributes for an insert, none for a delete.
  public var values: [String: AttributeValue] { content.values }
  /// The values of changed attributes before the edit, by name: none for an insert, all attributes for a delete. After
  /// a conflict that was resolved in favor of the edit, the server's values, so that a server that compares the bases
  /// accepts the edit. A deletion keeps its bases.
  public var base: [String: AttributeValue] { content.base }
  /// The records that changed to-one relationships lead to, by the names of the relationships. A relationship that was
  /// cleared has no record.
  public var references: [String: ForwardReference?] { content.references }
  /// The changed members of to-many relationships, by the names of the relationships. A link of a many-to-many relationship
  /// is an edit of one side, whose entity and relationship have the first name in order: `Tag.tasks` before `Task.tags`.
  public var members: [String: ForwardMembers] { content.members }
  /// The names of all changed properties.
  public var changedProperties: Set<String> {
    Set(content.values.keys).union(content.references.keys).union(content.members.keys)
  }
  /// The author of the first change.
  public var author: String? { content.author }
  /// The date of the first change.
  public var date: Date { content.date }

  /// The new value of an attribute; `nil` when the edit does not change it.
  public subscript(name: String) -> AttributeValue? { content.values[name] }
}

extension ForwardRequest where Object: DeclaredEntity {
  /// The new value of an attribute; `nil` when the edit does not change it, or when the value is of another type.
  public subscript<Value: AttributeConvertible>(
    attribute: KeyPath<Object.Properties, AttributeKey<Value>>
  ) -> Value? {
    content.values[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The present value of an identifying attribute; `nil` for other attributes.
  public func key<Value: AttributeConvertible>(
    _ attribute: KeyPath<Object.Properties, AttributeKey<Value>>
  ) -> Value? {
    content.keys[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The value of an attribute before the edit; `nil` when the edit does not change it.
  public func base<Value: AttributeConvertible>(
    _ attribute: KeyPath<Object.Properties, AttributeKey<Value>>
  ) -> Value? {
    content.base[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The record that a changed to-one relationship leads to; `nil` when the edit does not change it, or clears it.
  public func reference<Target>(
    _ relationship: KeyPath<Object.Properties, ToOneKey<Target>>
  ) -> ForwardReference? {
    content.references[Object.Properties.table[keyPath: relationship].name] ?? nil
  }
}
