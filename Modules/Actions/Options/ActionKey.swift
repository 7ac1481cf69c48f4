/// The key that makes actions of one type equal. While an action with a key is unfinished, a later submission of an equal
/// action by default joins the first one and shares its handle. ``EqualActionPolicy`` has other choices.
///
/// Only type and key are compared, not the other properties of the actions. Make every relevant property a part of the
/// key, or choose a policy with which the later action runs.
///
/// A key is any hashable value: `ActionKey("albums")`, `ActionKey(album.objectID)`, or the literal `"albums"`.
///
/// The Connect compares and hashes the values of keys under a lock that each submission needs. The `==` and
/// `hash(into:)` of a value must return quickly, and must neither call the Connect nor wait for a thread that does: the
/// call would wait for its own lock.
public struct ActionKey: Sendable, Hashable, ExpressibleByStringLiteral {
  private let value: any Hashable & Sendable

  /// Makes a key of a value. Keys are equal when their values are.
  public init(_ value: some Hashable & Sendable) { self.value = value }
  /// Makes a key of a text.
  public init(stringLiteral text: String) { value = text }

  public static func == (one: ActionKey, other: ActionKey) -> Bool {
    AnyHashable(one.value) == AnyHashable(other.value)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
}
