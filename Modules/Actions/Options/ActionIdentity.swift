/// The type and the key of an action. Actions with the same identity are equal.
struct ActionIdentity: Sendable, Hashable {
  let type: ObjectIdentifier
  let key: ActionKey
}
