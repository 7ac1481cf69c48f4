/// What a server tells a client over a socket: as a rule a part of something, seldom the whole.
enum Event: Equatable, Sendable {
  /// A message with its author, as the server knows them.
  case said(Message)
  case liked(message: Message.ID)
  case renamed(author: Author.ID, to: String)
  case away(author: Author.ID, Bool)
  case deleted(message: Message.ID)
}
