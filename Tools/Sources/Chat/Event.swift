/// A message from the server over a socket: usually an update of a part, seldom a whole value.
enum Event: Equatable, Sendable {
  /// The server's present values of a message and its author.
  case said(Message)
  case liked(message: Message.ID)
  case renamed(author: Author.ID, to: String)
  case away(author: Author.ID, Bool)
  case deleted(message: Message.ID)
}
