/// What makes two actions equal: while an action with a key is not finished, another one of its type with the same key
/// is not executed, but shares the first one's handle. ``EqualActionPolicy`` has other choices.
///
/// Nothing but type and key is compared: actions whose properties differ are equal when their keys are. Put every
/// property into the key that makes a difference, or choose a policy with which the later action runs.
///
/// A key is any comparable and hashable value: `ActionKey("albums")`, `ActionKey(album.objectID)`, or simply the text
/// `"albums"`.
public struct ActionKey: Sendable, Hashable, ExpressibleByStringLiteral {
  private let value: any Hashable & Sendable

  public init(_ value: some Hashable & Sendable) { self.value = value }
  public init(stringLiteral text: String) { value = text }

  public static func == (one: ActionKey, other: ActionKey) -> Bool {
    AnyHashable(one.value) == AnyHashable(other.value)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
}
