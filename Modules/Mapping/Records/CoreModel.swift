public import CoherenceCore

/// What can tell models apart: `String`, the integers, `UUID`, and any other type that can be an attribute.
public typealias UniqueIdentifier = AttributeConvertible & Comparable & CustomStringConvertible

/// A model that something tells apart from others of its kind.
///
/// ```swift
/// struct Person { let personId: String; let name: String }
/// extension Person: CoreModel { var uid: String { personId } }
/// ```
public protocol CoreModel {
  associatedtype UidType: UniqueIdentifier
  /// What tells this model apart.
  var uid: UidType { get }
}
