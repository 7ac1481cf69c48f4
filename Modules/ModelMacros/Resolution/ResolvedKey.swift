/// A key of a property whose kind the compiler decides by the property's type.
///
/// Part of the expansions of ``Entity(_:abstract:formerNames:userInfo:)``; user code does not need it.
public protocol ResolvedKey: Sendable {
  /// The type of the property.
  associatedtype Value
  /// The type of the property in snapshots.
  associatedtype SnapshotValue

  /// Returns a value of the property as snapshots have it.
  static func snapshotValue(_ value: Value) -> SnapshotValue
}

extension AttributeKey: ResolvedKey {
  /// Returns the value itself.
  public static func snapshotValue(_ value: Value) -> Value { value }
}

extension ToOneKey: ResolvedKey {
  /// Returns the identifier of the target.
  public static func snapshotValue(_ value: Target?) -> ManagedObjectID? { value?.objectID }
}

/// A type of a property for which the compiler finds the key: the macro knows the text of the type only.
///
/// ```swift
/// enum TypeOf_album: ResolvedType {
///   static let key = PropertyResolution.key("album", optional: Album.self)
/// }
/// ```
/// The compiler infers the type of the key from its value, so that `TypeOf_album.Key.SnapshotValue` is a type. Part of
/// the expansions of ``Entity(_:abstract:formerNames:userInfo:)``; user code does not need it.
public protocol ResolvedType {
  /// The type of the key.
  associatedtype Key: ResolvedKey
  /// The key, made once.
  static var key: Key { get }
}
