/// Where models that are saved come from, as far as synchronisation is concerned.
public enum SyncOrigin: Sendable, Hashable {
  /// They were made or edited here: what they change is to be uploaded.
  case here
  /// The server sent them: their records are as the server has them.
  case server(UnsentEdits = .kept)

  /// What becomes of records that were edited here and not sent yet when the server sends other values.
  public enum UnsentEdits: Sendable, Hashable, CaseIterable {
    /// They stay as they are, to be sent: neither changed nor deleted by the save.
    case kept
    /// They become what the server sent, and are deleted when it sent nothing.
    case replaced
  }
}
