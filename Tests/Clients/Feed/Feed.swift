/// A feed on the identity map: pages, posts of one's own, sockets and a change of users.
@main struct Feed {
  static func main() async {
    await readAndWrite()
    await pushAtOnce()
    await changeUsers()
  }
}
