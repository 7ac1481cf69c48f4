/// Where models that are saved come from, as far as synchronisation is concerned.
public enum SyncOrigin: Sendable, Hashable {
  /// They were made or edited here: what they change is to be uploaded. Records that an overwriting save would delete are
  /// marked as deleted instead, for the server to be told, and a record that was marked as deleted is there again when
  /// there is a model of it.
  case here
  /// The server sent them: their records are as the server has them, and not deleted.
  case server(UnsentEdits = .kept)

  /// What becomes of records that were edited here and not sent yet when the server sends other values.
  public enum UnsentEdits: Sendable, Hashable, CaseIterable {
    /// They stay as they are, to be sent: neither changed nor deleted by the save.
    case kept
    /// They become what the server sent, and are deleted when it sent nothing.
    case replaced
  }
}
