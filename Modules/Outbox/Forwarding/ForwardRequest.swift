public import CoherenceCore
public import Foundation

/// An edit of a record, which a handler sends to a server.
///
/// An edit consists of one or more entries of the outbox: several changes of a record become one edit while they wait.
/// A repeated attempt has the same contents and the same ``idempotencyKey``, even after a crash. Later changes of the
/// record wait until the server has decided on the edit. Only ``keys``, ``assigned`` and the keys of ``references``
/// are read anew for each attempt.
public struct ForwardRequest<Object: ManagedObject>: Sendable {
  let content: ForwardContent

  /// The name of the record's entity.
  public var entityName: String { content.entityName }
  /// Whether the record was inserted, updated or deleted.
  public var kind: OutboxEntry.Kind { content.kind }
  /// The identity of the edit, which all its attempts share. A server that skips requests with repeated keys applies
  /// each edit exactly once.
  public var idempotencyKey: UUID { content.idempotencyKey }
  /// The number of the attempt; the first is 1.
  public var attempt: Int { content.attempt }
  /// The record, in the store of the entry.
  public var record: OutboxRecord { content.record }
  /// The record's identifier; `nil` when the model has no entity for the record any more. The record itself may already
  /// be deleted.
  public var objectID: ManagedObjectID? { content.objectID }
  /// The values of the identifying attributes by which the server knows the record, by name. After the server has
  /// assigned a key to an inserted record, the key is among them.
  public var keys: [String: AttributeValue] { content.keys }
  /// The new values of changed attributes, by name: all attributes for an insert, none for a delete. A derived attribute
  /// is among them only if it identifies the record.
  public var values: [String: AttributeValue] { content.values }
  /// The values of changed attributes before the edit, by name: none for an insert, all attributes for a delete. After
  /// a conflict resolved in favor of the edit, these are the server's values, so that a server that compares bases
  /// accepts the edit. A deletion keeps its bases, which may be older than an edit of this device whose answer was lost.
  public var base: [String: AttributeValue] { content.base }
  /// The last known values of the attributes that the server assigns, by name: the values of the record now for an
  /// update, those before the deletion or of the server's last conflict for a delete, none for an insert. A revision
  /// among them can be the precondition of the request. See ``Outbox/serverAssignedSetting``.
  public var assigned: [String: AttributeValue] { content.assigned }
  /// The new targets of changed to-one relationships, by the names of the relationships; `nil` for a relationship
  /// without a target.
  public var references: [String: ForwardReference?] { content.references }
  /// The changed members of to-many relationships, by the names of the relationships. A link of a many-to-many
  /// relationship is an edit of only one side: the side whose `Entity.relationship` comes first in the alphabet,
  /// `Tag.tasks` before `Task.tags`.
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
  /// The new value of an attribute; `nil` when the edit does not change the attribute, or when the value has another
  /// type. For an optional attribute the result has two levels: the inner `nil` is a value that the edit has removed.
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

  /// The present value of an optional identifying attribute; `nil` for other attributes, and for a record that has no
  /// key yet.
  public func key<Value: AttributeConvertible>(
    _ attribute: KeyPath<Object.Properties, AttributeKey<Value?>>
  ) -> Value? {
    content.keys[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The value of an attribute before the edit; `nil` when the edit does not change the attribute. For an optional
  /// attribute the result has two levels: the inner `nil` is an attribute that had no value.
  public func base<Value: AttributeConvertible>(
    _ attribute: KeyPath<Object.Properties, AttributeKey<Value>>
  ) -> Value? {
    content.base[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The last known value of an attribute that the server assigns; see ``assigned``. `nil` for other attributes. For an
  /// optional attribute the result has two levels: the inner `nil` is an attribute without a value.
  public func assigned<Value: AttributeConvertible>(
    _ attribute: KeyPath<Object.Properties, AttributeKey<Value>>
  ) -> Value? {
    content.assigned[Object.Properties.table[keyPath: attribute].name].flatMap { Value(attributeValue: $0) }
  }

  /// The new target of a to-one relationship; `nil` when the edit does not change the relationship, or removes its
  /// target.
  public func reference<Target>(
    _ relationship: KeyPath<Object.Properties, ToOneKey<Target>>
  ) -> ForwardReference? {
    content.references[Object.Properties.table[keyPath: relationship].name] ?? nil
  }
}
