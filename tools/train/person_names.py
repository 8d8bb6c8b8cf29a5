"""Given and family names of many languages, for invented people."""

FIRST_NAMES = tuple(
    """
    Aaliyah Aaron Abdul Abigail Ada Adaeze Adam Aditi Adrian Agnes Ahmed Aiko Aisha Akira Alan
    Alejandro Alex Alice Alma Amara Amelie Amina Amir Ana Anders Andrea Andrei Angela Anika Anna
    Anton Anya Ariel Arjun Arthur Asha Astrid Aurora Ayşe Beatriz Becky Ben Benedikt Bianca
    Bilal Björn Boris Brenda Brian Brigitte Caleb Camila Carla Carlos Carmen Caspian Cathy
    Cecilia Chandra Chidi Chloe Chris Claire Clara Connor Cora Cyrus Daisy Dalia Damian Dana
    Daniel Daphne Darius David Deepa Delphine Denise Devon Diana Diego Dina Dmitri Dominic Dora
    Dorothy Edgar Eduardo Efua Eleanor Elena Elias Elif Elijah Elke Ellen Emeka Emil Emma Enzo
    Erik Esther Ethan Eva Ewa Farah Fatima Felipe Felix Fiona Florian Frances Frank Freya
    Gabriel Gemma Geoff Georgia Gianni Giulia Gloria Grace Greta Guillermo Gus Hadiya Hamza Hana
    Hannah Hans Harriet Hassan Heidi Helen Henrik Hiroshi Hugo Ian Ibrahim Ida Ifeoma Igor Ilse
    Imani Imran Ines Ingrid Irene Isaac Isla Ivan Jack Jada Jamal James Jana Jasmine Jasper
    Javier Jin Joanna Joe Johanna Jonas Jorge Josie Judith Julian June Kai Kamal Karim Karin
    Kate Kavya Keiko Kenji Khadija Kofi Krishna Lara Lars Laura Layla Leila Lena Leo Leticia
    Liam Lila Lin Linda Lola Lorenzo Louis Lucia Luis Luka Lupe Lydia Mabel Maeve Magnus Mahmoud
    Maja Malik Manuel Mara Marcus Margaret Maria Marius Marta Mateo Matt Maya Mei Mehmet Miguel
    Mikael Mila Mina Minh Mira Mohammed Mona Morgan Musa Nadia Naomi Nasir Natasha Neha Niamh
    Nico Nigel Nikhil Nina Noah Noor Nora Nuno Odette Oksana Olga Oliver Olivia Omar Oscar Otto
    Padma Pablo Paola Patrick Paul Pedro Penny Petra Phoebe Pia Pierre Prakash Priya Quentin
    Quinn Rachel Rafael Rahul Raj Ramona Rashid Raúl Rebecca Renata Rhea Ricardo Rina Rita Robin
    Rohan Rosa Ruben Ruth Ryan Sabine Sade Sakura Salma Sam Samira Sana Sandra Sanjay Sara Sasha
    Saul Sean Selma Sergei Shanice Sharon Shirin Sienna Silvia Simon Siobhan Sofia Sonja Stefan
    Stella Suki Sunil Suresh Svetlana Tamar Tara Tariq Tatiana Teresa Thea Theo Thomas Tilda
    Tobias Tom Tomás Tova Trevor Uma Ursula Valentina Vera Victor Vijay Viktor Vincent Violet
    Wanjiru Wei Wendy Will Winston Xavier Xin Yara Yasmin Yolanda Yuki Yusuf Zain Zara Zeynep
    Zoe Zofia
    """.split()
)
FAMILY_NAMES = tuple(
    """
    Abara Adeyemi Ahmed Alvarez Andersen Aoki Banerjee Barbosa Bauer Becker Bianchi Bjork
    Brennan Brooks Campbell Carvalho Chen Cho Clarke Cohen Costa Das Diaz Dubois Eriksen
    Fernandes Fischer Fofana Foster Garcia Ghosh Gomez Greene Gupta Haddad Hansen Hassan Hayes
    Hoffman Hughes Ibarra Ito Ivanova Jansen Jones Kamau Kaplan Kaur Khan Kim Kowalski Kumar
    Larsson Lee Lewis Lindgren Lopez MacLeod Malik Marino Martin Mbeki Mendoza Meyer Mishra
    Morales Murphy Nakamura Ncube Nguyen Nielsen Novak Obi Okafor Oliveira Olsen Ortiz Osei Park
    Patel Pereira Petrov Popescu Quispe Rahman Ramirez Reyes Rossi Russo Saito Santos Sato
    Schmidt Shah Sharma Silva Singh Sokolov Stewart Suzuki Tanaka Taylor Thapa Thompson Torres
    Tran Usman Vargas Virtanen Wagner Walsh Wang Watanabe Weber Wilson Wong Wright Yamada Yilmaz
    Young Zhang
    """.split()
)
