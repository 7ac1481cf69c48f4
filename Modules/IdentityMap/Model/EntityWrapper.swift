/// A type without an identity that contains entities, usually an enum with associated values.
///
/// Write an optional computed property with a getter and a setter for each case that holds an entity, and name them:
///
/// ```swift
/// func wrappedEntitiesKeyPaths<Root>(
///   relativeTo parent: WritableKeyPath<Root, Self>
/// ) -> [PartialIdentifiableKeyPath<Root>] {
///   [.init(parent.appending(\.book)), .init(parent.appending(\.game))]
/// }
/// ```
///
/// A setter is only called for the case of the value: with a newer value of its entity, or with `nil` after the removal
/// of the entity. A setter may ignore `nil`: then the value that contains the wrapper loses it, as it would lose an
/// entity.
public protocol EntityWrapper {
  /// The key paths to the entities of the wrapper, each appended to the key path of the wrapper.
  func wrappedEntitiesKeyPaths<Root>(
    relativeTo parent: WritableKeyPath<Root, Self>
  ) -> [PartialIdentifiableKeyPath<Root>]
}

/// The former name.
@available(*, deprecated, renamed: "EntityWrapper")
public typealias EntityEnumWrapper = EntityWrapper

extension WritableKeyPath {
  /// Appends a key path, without an argument label.
  public func appending<Part>(_ path: WritableKeyPath<Value, Part>) -> WritableKeyPath<Root, Part> {
    appending(path: path)
  }
}
